"""What bodies, parameters and headers may be; every refusal says where and changes nothing."""

from __future__ import annotations

import io
from typing import Any

import pytest
from werkzeug.test import EnvironBuilder, run_wsgi_app
from werkzeug.wrappers import Response

from tests.http.world import Caller, World

JSON = "application/json"


@pytest.fixture
def settings() -> dict[str, object]:
    return {"payload_limit_bytes": 2048, "body_limit_bytes": 256 * 1024}


def publication(alice: Caller, **said: Any) -> dict[str, Any]:
    return {"recipients": [alice.id], "project": "main", "payload": {"type": "t"}, **said}


def pointers(answer: Any) -> list[str]:
    assert (answer.status_code, answer.json["type"]) == (422, "/problems/validation-error"), (
        answer.text
    )
    assert all(fault["detail"] for fault in answer.json["errors"])
    return [fault["pointer"] for fault in answer.json["errors"]]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"null",
        b'"text"',
        b"{",
        b'{"limit":1}x',
        b'{"limit":NaN}',
        b'{"limit":1,"limit":2}',
        b'{"claim_id":"\\ud800"}',
        b'{"claim_id":"\xff"}',
        b'{"limit":' + b"[" * 50_000 + b"]" * 50_000 + b"}",
    ],
    ids=lambda body: repr(body[:24]),
)
def test_what_is_no_json_object_is_400(alice: Caller, body: bytes) -> None:
    answer = alice.post("A/inbox/claim", data=body, content_type=JSON)
    assert (answer.status_code, answer.json["type"]) == (400, "/problems/malformed-json"), (
        answer.text
    )


@pytest.mark.parametrize(
    "kind",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/json; charset=latin-1",
        "json",
    ],
)
def test_other_content_types_are_415(alice: Caller, kind: str) -> None:
    answer = alice.post("A/inbox/claim", data=b"{}", content_type=kind)
    assert (answer.status_code, answer.json["type"]) == (415, "/problems/unsupported-media-type")


@pytest.mark.parametrize(
    "kind", ["application/json", "application/json; charset=utf-8", "Application/JSON"]
)
def test_json_in_utf_8_is_read(alice: Caller, kind: str) -> None:
    assert alice.post("A/inbox/claim", data=b"{}", content_type=kind).status_code == 200


def test_a_body_without_a_content_type_is_415(alice: Caller) -> None:
    assert alice.post("A/inbox/claim", data=b"{}").status_code == 415


def test_all_faults_are_told_at_once(alice: Caller) -> None:
    answer = alice.post(
        "A/inbox/claim",
        {
            "limit": 0,
            "lease_seconds": 43_201,
            "wait_seconds": True,
            "consumer": "",
            "nope": 1,
            "a/b~c": 2,
        },
    )
    assert sorted(pointers(answer)) == [
        *("/a~1b~0c", "/consumer", "/lease_seconds", "/limit", "/nope", "/wait_seconds"),
    ]


@pytest.mark.parametrize(
    ("path", "body", "pointer"),
    [
        ("claim", {"limit": 1001}, "/limit"),
        ("claim", {"limit": 1.5}, "/limit"),
        ("claim", {"limit": "10"}, "/limit"),
        ("claim", {"lease_seconds": 0}, "/lease_seconds"),
        ("claim", {"wait_seconds": 31}, "/wait_seconds"),
        ("claim", {"claim_id": "short"}, "/claim_id"),
        ("claim", {"claim_id": "x" * 65}, "/claim_id"),
        ("claim", {"consumer": "tab\there"}, "/consumer"),
        ("claim", {"projects": []}, "/projects"),
        ("claim", {"projects": ["no slug"]}, "/projects/0"),
        ("claim", {"after_cursor": -1}, "/after_cursor"),
        ("claim", {"after_cursor": 2**63}, "/after_cursor"),
        ("release", {}, "/consumer"),
        ("commit", {}, "/through_cursor"),
        ("commit", {"through_cursor": -1}, "/through_cursor"),
        ("settle", {"ack": [{"claim_generation": 1}]}, "/ack/0/event_id"),
        ("settle", {"ack": [{"event_id": "evt_x"}]}, "/ack/0/claim_generation"),
        ("settle", {"acks": []}, "/acks"),
        (
            "settle",
            {"renew": [{"event_id": "e", "claim_generation": 1, "result": {}}]},
            "/renew/0/result",
        ),
        ("evt_x/ack", {"claim_generation": -1}, "/claim_generation"),
        ("evt_x/ack", {"claim_generation": 1, "result": []}, "/result"),
        ("evt_x/ack", {"claim_generation": 1, "result": {"x": "y" * 9000}}, "/result"),
        ("evt_x/renew", {"claim_generation": 1, "progress": {"x": "y" * 4096}}, "/progress"),
        ("evt_x/release", {"claim_generation": 1, "delay_seconds": -1}, "/delay_seconds"),
        ("evt_x/release", {"claim_generation": 1, "error": {"message": ""}}, "/error/code"),
        (
            "evt_x/release",
            {"claim_generation": 1, "error": {"code": "c", "message": "m", "outcome": "maybe"}},
            "/error/outcome",
        ),
        ("evt_x/reject", {"claim_generation": 1}, "/reason"),
    ],
)
def test_members_out_of_place_are_422(
    alice: Caller, path: str, body: dict[str, Any], pointer: str
) -> None:
    assert pointers(alice.post(f"A/inbox/{path}", body)) == [pointer]


@pytest.mark.parametrize(
    ("said", "pointer"),
    [
        ({"priority": 101}, "/priority"),
        ({"priority": "high"}, "/priority"),
        ({"type": ""}, "/type"),
        ({"type": "t" * 129}, "/type"),
        ({"payload": {}}, "/type"),
        ({"payload": {"type": 7}}, "/type"),
        ({"payload": [1]}, "/payload"),
        ({"payload": "{}"}, "/payload"),
        ({"payload": None}, "/payload"),
        ({"recipients": []}, "/recipients"),
        ({"project": "no slug"}, "/project"),
        ({"ordering_key": "k" * 201}, "/ordering_key"),
        ({"max_attempts": 0}, "/max_attempts"),
        ({"max_attempts": 101}, "/max_attempts"),
        ({"available_at": "tomorrow"}, "/available_at"),
        ({"available_at": "2031-05-01T00:00:00Z", "delay_seconds": 1}, ""),
        ({"expires_at": "2031-05-01T00:00:00Z", "expires_in_seconds": 1}, ""),
        ({"expires_in_seconds": 0}, "/expires_in_seconds"),
        ({"expires_at": "2001-01-01T00:00:00Z"}, "/expires_at"),
        ({"backoff": {"base_seconds": 9, "max_seconds": 8}}, "/backoff"),
        ({"backoff": {"base_seconds": 9}}, "/backoff/max_seconds"),
        ({"report": ["claimed"]}, "/report/0"),
        ({"corrects": "evt_x"}, "/corrects"),
        ({"idempotency_key": "k" * 129}, "/idempotency_key"),
        ({"sequence_number": 7}, "/sequence_number"),
        ({"events": []}, "/events"),
    ],
)
def test_publications_out_of_place_are_422(
    alice: Caller, said: dict[str, Any], pointer: str
) -> None:
    """Alone and in a list; in the list the pointer leads into it."""
    if "events" in said:
        assert pointers(alice.post("events", said)) == [pointer]
        return
    body = {name: value for name, value in publication(alice, **said).items() if value is not None}
    if "payload" in said and said["payload"] is None:
        body["payload"] = None
    assert pointers(alice.post("events", body)) == [pointer]
    in_list = alice.post("events", {"events": [publication(alice), body]})
    assert pointers(in_list) == [f"/events/1{pointer}"]
    assert alice.get("A/inbox/stats").json["head"] == 0


def test_the_agents_own_address_takes_no_recipients(alice: Caller) -> None:
    assert pointers(alice.post("A/events", publication(alice))) == ["/recipients"]


def test_a_recipient_named_twice_is_422(alice: Caller) -> None:
    answer = alice.post("events", publication(alice, recipients=[alice.id, alice.id]))
    assert pointers(answer) == ["/recipients"]


def test_a_call_makes_at_most_a_thousand_events(alice: Caller) -> None:
    body = {"type": "t", "project": "main", "payload": {}}
    assert pointers(alice.post("A/events", {"events": [body] * 1001})) == ["/events"]
    twice = {**body, "recipients": [alice.id, "agt_" + "0" * 32]}
    assert pointers(alice.post("events", {"events": [twice] * 501})) == [""]


def test_an_event_settled_twice_in_a_call_refuses_the_call(alice: Caller) -> None:
    (event,) = alice.publish(alice)
    alice.claim()
    named = {"event_id": event["event_id"], "claim_generation": 1}
    assert pointers(alice.post("A/inbox/settle", {"ack": [named], "release": [named]})) == [
        "/release/0/event_id"
    ]
    assert alice.get("A/inbox/stats").json["claimed"] == 1


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("limit=0", "limit"),
        ("limit=1001", "limit"),
        ("limit=ten", "limit"),
        ("limit=1_0", "limit"),
        ("limit=%2B5", "limit"),
        ("limit=", "limit"),
        ("after_cursor=-1", "after_cursor"),
        ("after_cursor=1.0", "after_cursor"),
        ("after_cursor=99999999999999999999", "after_cursor"),
        ("wait_seconds=31", "wait_seconds"),
        ("status=closed", "status"),
        ("projects=", "projects"),
        ("projects=a,,b", "projects"),
        ("projects=no+slug", "projects"),
        ("after_curser=1", "after_curser"),
        ("limit=1&limit=2", "limit"),
        ("limit=%FF", ""),
    ],
)
def test_parameters_out_of_place_are_422(alice: Caller, query: str, name: str) -> None:
    assert pointers(alice.get(f"A/inbox?{query}")) == [name]


def test_where_there_are_no_parameters_none_are_taken(alice: Caller) -> None:
    assert pointers(alice.get("A/inbox/stats?verbose=1")) == ["verbose"]
    assert pointers(alice.post("A/inbox/claim?limit=1", {})) == ["limit"]


def test_a_list_of_receipts_has_one_name(alice: Caller) -> None:
    assert pointers(alice.get("events")) == [""]
    assert pointers(alice.get(f"events?correlation_id=c&recipient={alice.id}")) == [""]
    assert alice.get("events?recipient=nonsense").json == {"events": [], "next_page_token": None}
    altered = alice.get("events?correlation_id=c&page_token=made-up")
    assert (altered.status_code, altered.json["type"]) == (400, "/problems/page-token-invalid")


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
