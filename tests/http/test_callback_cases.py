"""The twelve challenge cases, by their numbers, through the API."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from restante.egress.refusal import Cause
from restante.webhooks.secrets import response_to
from tests.http.callbacks import (
    SECRET,
    Outside,
    Receiver,
    call_out_to,
    http,
    register,
    registered,
    right,
)
from tests.http.world import Caller, World, verbs

THEIRS = "the secret of another tenant, thirty-two bytes"


def response(told: dict[str, Any], secret: str = SECRET) -> bytes:
    return json.dumps({"challenge_response": response_to(secret, told["challenge"])}).encode()


@pytest.mark.parametrize(
    ("answering", "reason"),
    [
        pytest.param(
            lambda told: http(json.dumps({"challenge_response": told["challenge"]}).encode()),
            "signature",
            id="CH-01",
        ),
        pytest.param(right(), None, id="CH-02"),
        pytest.param(
            lambda told: http(
                json.dumps(
                    {"challenge_response": response_to(SECRET, told["challenge"])[:32]}
                ).encode()
            ),
            "signature",
            id="CH-03",
        ),
        *(
            pytest.param(
                lambda told, status=status: http(response(told), status=status),
                "status",
                id=f"CH-05-{status}",
            )
            for status in (201, 202, 500)
        ),
        pytest.param(lambda told: http(response(told) + b" " * 10_000_000), "body", id="CH-06"),
        pytest.param(
            lambda told: http(gzip.compress(response(told)), fields="Content-Encoding: gzip\r\n"),
            "body",
            id="CH-08",
        ),
        pytest.param(lambda told: http(response(told, THEIRS)), "signature", id="CH-09"),
    ],
)
def test_an_answer(outside: Outside, hooked: Caller, answering: Any, reason: str | None) -> None:
    outside.receiver.answering = answering
    answer = register(hooked)
    assert answer.status_code == (201 if reason is None else 422)
    assert answer.json.get("reason") == reason


def test_ch_04_an_earlier_token(outside: Outside, hooked: Caller) -> None:
    outside.receiver.answering = lambda _: http(b"no")
    callback_id = register(hooked).json["callback_id"]
    earlier = outside.receiver.bodies[0]
    outside.receiver.answering = lambda _: http(response(earlier))
    assert hooked.post(f"A/callbacks/{callback_id}/challenge").json["reason"] == "signature"


def test_ch_07_an_answer_that_dribbles(outside: Outside, hooked: Caller) -> None:
    """The deadline is the whole call's (tests/unit/egress/test_dial.py has it with a real one)."""
    outside.receiver.failing = Cause.TIMEOUT
    answer = register(hooked)
    assert (answer.status_code, answer.json["reason"]) == (422, "unreachable")


def test_ch_09_a_neighbours_secret_on_the_same_url(
    world: World, outside: Outside, hooked: Caller
) -> None:
    world.tenant("rival", "main")
    rival = world.agent("rival", "hooked", verbs("main", "callback"))
    outside.receiver.answering = right(THEIRS)
    assert register(rival, secret=THEIRS).status_code == 201
    assert register(hooked).json["reason"] == "signature"


def test_ch_10_nothing_but_the_challenge_goes_out_before(
    outside: Outside, hooked: Caller, ci: Caller
) -> None:
    ci.publish(hooked)
    registered(hooked)
    ci.publish(hooked)
    assert [body["type"] for body in outside.receiver.bodies] == ["callback_challenge"]


def test_ch_11_another_url_is_unverified(outside: Outside, hooked: Caller) -> None:
    callback_id = registered(hooked)
    outside.receiver.failing = Cause.CONNECT
    path = f"A/callbacks/{callback_id}"
    assert hooked.call("PATCH", path, json={"url": "https://new.example.com/"}).status_code == 422
    there = hooked.get(path).json
    assert (there["status"], there["challenged_at"]) == ("challenge_failed", None)


def test_ch_12_a_certificate_that_is_not_its(world: World, hooked: Caller) -> None:
    """Which certificates these are: tests/unit/egress/test_dial.py, with real ones."""
    call_out_to(world, Receiver(failing=Cause.TLS))
    assert register(hooked).json["reason"] == "unreachable"
