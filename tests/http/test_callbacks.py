"""Callbacks: registered, challenged, read, changed, removed by their agent."""

from __future__ import annotations

import json
from base64 import b64encode
from functools import partial
from typing import Any

import pytest

from restante.egress.refusal import Cause
from restante.webhooks.secrets import response_to
from tests.http.administration import audited, faults, let_states_age
from tests.http.callbacks import (
    SECRET,
    URL,
    Outside,
    Receiver,
    call_out_to,
    http,
    problem,
    register,
    registered,
    right,
)
from tests.http.world import Caller, World, verbs


def test_a_receiver_that_knows_the_secret_is_registered(outside: Outside, hooked: Caller) -> None:
    answer = register(hooked, projects=["main"], max_in_flight=3)
    assert answer.status_code == 201
    told = answer.json
    (posted,) = outside.receiver.bodies
    assert posted.pop("challenge")
    assert posted.pop("expires_at")
    assert posted == {"type": "callback_challenge", "callback_id": told["callback_id"]}
    head = outside.receiver.requests[0].partition(b"\r\n\r\n")[0]
    assert head.startswith(b"POST /restante HTTP/1.1\r\nHost: hooks.example.com\r\n")
    assert b"Content-Type: application/json" in head
    expected = {"url": URL, "mode": "deliver", "projects": ["main"], "max_in_flight": 3}
    assert expected.items() <= told.items()
    assert told["status"] == "pending_approval"
    assert hooked.get("A/callbacks").json["callbacks"] == [told]
    assert hooked.get(f"A/callbacks/{told['callback_id']}").json == told
    assert SECRET not in answer.text
    assert outside.waited == []


@pytest.mark.parametrize(
    ("answering", "reason"),
    [
        (lambda _: http(json.dumps({"challenge_response": "00"}).encode()), "signature"),
        (lambda _: http(b"ok"), "body"),
        (lambda _: http(b"{}", status=500), "status"),
        (lambda _: b"SSH-2.0-OpenSSH_9.6\r\n", "unreachable"),
    ],
    ids=["signature", "body", "status", "unreachable"],
)
def test_a_wrong_answer_is_422_and_the_callback_is_there(
    outside: Outside, hooked: Caller, answering: Any, reason: str
) -> None:
    outside.receiver.answering = answering
    answer = register(hooked)
    assert problem(answer) == (422, "challenge-failed")
    assert answer.json["reason"] == reason
    path = f"A/callbacks/{answer.json['callback_id']}"
    there = hooked.get(path).json
    assert (there["status"], there["challenge_reason"]) == ("challenge_failed", reason)
    outside.receiver.answering = right()
    again = hooked.post(f"{path}/challenge")
    assert (again.status_code, again.json["status"]) == (200, "pending_approval")
    assert again.json["challenge_reason"] is None


@pytest.mark.parametrize(
    "outside",
    [
        *({"receiver": Receiver(failing=cause)} for cause in Cause),
        {"answers": [["10.0.0.1"]]},
        {"answers": [["169.254.169.254"]]},
        {"answers": [["93.184.215.14", "127.0.0.1"]]},
        {"answers": [[]]},
        {"error": "no such name"},
        {"receiver": Receiver(dialled=partial(int, "nobody foresaw this"))},
    ],
    ids=lambda given: str(next(iter(given.values())))[-40:],
)
def test_whatever_the_network_does_is_one_answer_after_one_time(
    world: World, hooked: Caller, outside: dict[str, Any]
) -> None:
    there = call_out_to(world, **outside)
    answer = register(hooked)
    told = dict(answer.json)
    assert told.pop("callback_id")
    assert told.pop("request_id")
    assert told.pop("instance") == hooked.address("A/callbacks")
    assert told == {
        "type": "/problems/challenge-failed",
        "title": "The callback did not answer its challenge",
        "status": 422,
        "detail": "The receiver did not answer its challenge rightly: mend it, and have it challenged "
        "again.",
        "reason": "unreachable",
    }
    assert there.waited == [5.5]
    if "receiver" not in outside:
        assert there.receiver.addresses == []


def test_a_url_that_its_text_refuses_calls_nobody(
    world: World, outside: Outside, hooked: Caller
) -> None:
    for path, body in (
        ("A/callbacks/check", {"url": "https://127.0.0.1/"}),
        ("A/callbacks", {"url": "http://hooks.example.com/", "secret": SECRET, "mode": "notify"}),
    ):
        assert problem(hooked.post(path, body)) == (422, "callback-refused")
    callback_id = registered(hooked)
    changed = hooked.call("PATCH", f"A/callbacks/{callback_id}", json={"url": "https://x/"})
    assert problem(changed) == (422, "callback-refused")
    assert hooked.get(f"A/callbacks/{callback_id}").json["status"] == "pending_approval"
    assert hooked.post("A/callbacks/check", {"url": URL}).json == {"allowed": True}
    assert len(outside.names.asked) == len(outside.receiver.requests) == 1
    refused = [
        reason for action, _, reason in audited(world, by=hooked) if reason.startswith("url:")
    ]
    assert refused == ["url: scheme", "url: single_label"]
    for _ in range(3):
        assert problem(register(hooked, url="http://hooks.example.com/"))[1] == "callback-refused"
    assert len(audited(world, by=hooked)) == len(refused) + 2  # its registration and challenge


def test_what_is_said_wrongly_is_named(outside: Outside, hooked: Caller) -> None:
    assert faults(register(hooked, secret="short")) == ["/secret"]
    assert faults(register(hooked, secret="whsec_" + "!" * 40)) == ["/secret"]
    assert faults(register(hooked, secret="whsec_" + b64encode(bytes(23)).decode())) == ["/secret"]
    assert faults(register(hooked, mode="push")) == ["/mode"]
    assert faults(register(hooked, max_in_flight=0)) == ["/max_in_flight"]
    assert faults(register(hooked, projects=[])) == ["/projects"]
    assert faults(register(hooked, colour="red")) == ["/colour"]
    assert problem(register(hooked, projects=["other"])) == (403, "insufficient-scope")
    callback_id = registered(hooked)
    assert faults(hooked.call("PATCH", f"A/callbacks/{callback_id}", json={})) == [""]
    for name in ("url", "mode", "max_in_flight"):
        nothing = hooked.call("PATCH", f"A/callbacks/{callback_id}", json={name: None})
        assert faults(nothing) == [f"/{name}"]
    (there,) = hooked.get("A/callbacks").json["callbacks"]
    assert (there["callback_id"], there["status"]) == (callback_id, "pending_approval")
    assert len(outside.receiver.requests) == 1


def test_ten_challenges_an_hour_go_to_a_host_over_all_tenants(
    world: World, outside: Outside, hooked: Caller
) -> None:
    world.tenant("rival", "main")
    rival = world.agent("rival", "hooked", verbs("main", "callback"))
    outside.receiver.answering = lambda _: http(b"no")
    for number in range(10):
        who = rival if number % 2 else hooked
        assert problem(register(who))[1] == "challenge-failed"
    full = register(rival, url="https://HOOKS.example.com:8443/another")
    assert problem(full) == (429, "rate-limited")
    assert 3500 <= int(full.headers["Retry-After"]) <= 3602
    assert len(rival.get("A/callbacks").json["callbacks"]) == 5
    callback_id = hooked.get("A/callbacks").json["callbacks"][0]["callback_id"]
    assert problem(hooked.post(f"A/callbacks/{callback_id}/challenge"))[0] == 429
    assert len(outside.receiver.requests) == 10
    assert problem(register(rival, url="https://elsewhere.example.com/"))[1] == "challenge-failed"
    world.pass_time(3601)
    let_states_age(world)
    hooked = world.narrowed(hooked, verbs("main", "callback"))
    assert problem(hooked.post(f"A/callbacks/{callback_id}/challenge"))[1] == "challenge-failed"


def test_the_same_request_again_is_challenged_once(outside: Outside, hooked: Caller) -> None:
    key = {"Idempotency-Key": "register-1"}
    first = register(hooked, headers=key)
    again = register(hooked, headers=key)
    assert (again.status_code, again.json) == (201, first.json)
    assert again.headers["Idempotency-Replayed"] == "true"
    assert problem(register(hooked, headers=key, mode="notify"))[1] == "idempotency-key-reused"
    assert len(outside.receiver.requests) == 1
    outside.receiver.answering = lambda _: http(b"no")
    key = {"Idempotency-Key": "register-2"}
    failed = [register(hooked, headers=key) for _ in range(2)]
    assert [problem(answer)[1] for answer in failed] == ["challenge-failed"] * 2
    assert failed[0].json["callback_id"] == failed[1].json["callback_id"]

    def meanwhile(told: dict[str, Any]) -> bytes:
        seen.append(problem(register(hooked, headers={"Idempotency-Key": "register-3"})))
        return right()(told)

    seen: list[tuple[int, str]] = []
    outside.receiver.answering = meanwhile
    assert register(hooked, headers={"Idempotency-Key": "register-3"}).status_code == 201
    assert seen == [(409, "idempotency-in-flight")]


def test_an_agent_has_twenty_at_most(outside: Outside, hooked: Caller) -> None:
    for number in range(20):
        registered(hooked, url=f"https://h{number}.example.com/")
    refused = register(hooked, url="https://h20.example.com/")
    assert problem(refused) == (409, "callback-conflict")
    first = hooked.get("A/callbacks?limit=15").json
    rest = hooked.get(f"A/callbacks?limit=15&page_token={first['next_page_token']}").json
    assert (len(first["callbacks"]), len(rest["callbacks"])) == (15, 5)
    assert rest["next_page_token"] is None


def test_the_response_is_of_this_challenge(outside: Outside, hooked: Caller) -> None:
    outside.receiver.answering = lambda _: http(b"no")
    callback_id = register(hooked).json["callback_id"]
    earlier = outside.receiver.bodies[0]["challenge"]
    outside.receiver.answering = lambda _: http(
        json.dumps({"challenge_response": response_to(SECRET, earlier)}).encode()
    )
    assert hooked.post(f"A/callbacks/{callback_id}/challenge").json["reason"] == "signature"
