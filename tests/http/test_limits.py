"""How much a call may bring, and what its headers may be."""

from __future__ import annotations

import io
from typing import Any

import pytest
from werkzeug.test import EnvironBuilder, run_wsgi_app
from werkzeug.wrappers import Response

from tests.http.test_bodies import JSON, pointers, publication
from tests.http.world import Caller, World


@pytest.fixture
def settings() -> dict[str, object]:
    return {"payload_limit_bytes": 2048, "body_limit_bytes": 256 * 1024}


def test_a_call_makes_at_most_a_thousand_events(alice: Caller) -> None:
    body = {"type": "t", "project": "main", "payload": {}}
    assert pointers(alice.post("A/events", {"events": [body] * 1001})) == ["/events"]
    twice = {**body, "recipients": [alice.id, "agt_" + "0" * 32]}
    assert pointers(alice.post("events", {"events": [twice] * 501})) == [""]


def sent(world: World, alice: Caller, stream: Any, length: int | None) -> Any:
    """The answer to a body as a server hands it over; without a length it is chunked."""
    environ = EnvironBuilder(
        path=alice.address("A/inbox/claim"),
        method="POST",
        content_type=JSON,
        headers={"Authorization": f"Bearer {alice.token}"},
    ).get_environ()
    environ["wsgi.input"] = stream
    environ["wsgi.input_terminated"] = True
    environ.pop("CONTENT_LENGTH", None)
    if length is not None:
        environ["CONTENT_LENGTH"] = str(length)
    return Response(*run_wsgi_app(world.app, environ))


def test_a_chunked_body_is_read_and_limited(world: World, alice: Caller) -> None:
    assert sent(world, alice, io.BytesIO(b'{"limit":1}'), None).status_code == 200
    answer = sent(world, alice, io.BytesIO(b" " * (256 * 1024 + 1)), None)
    assert (answer.status_code, answer.json["type"]) == (413, "/problems/payload-too-large")


def test_the_body_limit_holds_before_the_body_is_read(world: World, alice: Caller) -> None:
    class Untouched:
        def read(self, *size: int) -> bytes:
            raise AssertionError("the body was read")

    answer = sent(world, alice, Untouched(), 256 * 1024 + 1)
    assert (answer.status_code, answer.json["type"]) == (413, "/problems/payload-too-large")
    assert answer.json["limit_bytes"] == 256 * 1024


def test_a_body_that_ends_early_is_400(world: World, alice: Caller) -> None:
    answer = sent(world, alice, io.BytesIO(b"{}"), 10)
    assert (answer.status_code, answer.json["type"]) == (400, "/problems/malformed-json")


def test_the_payload_limit_counts_bytes_as_received(alice: Caller) -> None:
    fits = {"type": "t", "x": "y" * (2048 - len('{"type": "t", "x": ""}'))}
    body = f'{{"recipients":["{alice.id}"],"project":"main","payload":%s}}'
    text = '{"type": "t", "x": "' + "y" * (2048 - len('{"type": "t", "x": ""}')) + '"}'
    assert len(text) == 2048
    taken = alice.post("events", data=body % text, content_type=JSON)
    assert taken.status_code == 201, taken.text
    refused = alice.post("events", data=body % (text[:-1] + " }"), content_type=JSON)
    assert (refused.status_code, refused.json["type"]) == (413, "/problems/payload-too-large")
    assert refused.json["pointer"] == "/payload"
    assert alice.get("A/inbox").json["events"][0]["payload"] == fits
    assert alice.get("A/inbox/stats").json["head"] == 1


@pytest.mark.parametrize("key", ["", " ", "k" * 129, "ä", "a b\x7f"])
def test_an_idempotency_key_is_up_to_128_visible_characters(alice: Caller, key: str) -> None:
    answer = alice.post(
        "events", publication(alice), headers={"Idempotency-Key": key.encode().decode("latin-1")}
    )
    assert pointers(answer) == ["Idempotency-Key"]


def test_unknown_recipients_answer_alike_and_write_nothing(world: World, alice: Caller) -> None:
    world.tenant("rival", "main")
    foreign = world.agent("rival", "r", ["agent:main:read"])
    without = world.agent("acme", "w", ["agent:other:read"])
    for recipient in ("agt_" + "0" * 32, foreign.id, without.id, "agt_nonsense", "", "ä" * 64):
        answer = alice.post("events", publication(alice, recipients=[alice.id, recipient]))
        assert (answer.status_code, answer.json["type"]) == (422, "/problems/recipient-refused"), (
            recipient
        )
        assert answer.json["recipients"] == [recipient]
    reply_to = alice.post("events", publication(alice, reply_to="agt_nonsense"))
    assert reply_to.json["type"] == "/problems/recipient-refused"
    assert alice.get("A/inbox/stats").json["head"] == 0


def test_an_encoded_body_is_415(alice: Caller) -> None:
    sent_gzipped = alice.post("A/inbox/claim", {}, headers={"Content-Encoding": "gzip"})
    assert (sent_gzipped.status_code, sent_gzipped.json["type"]) == (
        415,
        "/problems/unsupported-media-type",
    )
    assert (
        alice.post("A/inbox/claim", {}, headers={"Content-Encoding": "identity"}).status_code == 200
    )
