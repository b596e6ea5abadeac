"""What bodies, parameters and headers may be; every refusal says where and changes nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.http.administration import faults
from tests.http.world import Caller

JSON = "application/json"


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


@pytest.mark.parametrize(
    ("verb", "body"),
    [
        ("renew", {"lease_seconds": None, "progress": None}),
        ("release", {"delay_seconds": None, "error": None}),
        ("ack", {"result": None}),
    ],
)
def test_a_member_that_may_be_left_out_may_be_null(
    alice: Caller, verb: str, body: dict[str, Any]
) -> None:
    answer = alice.post(f"A/inbox/evt_{'0' * 32}/{verb}", {"claim_generation": 1, **body})
    assert answer.status_code == 404, answer.text  # read, and no such event


def test_names_and_keys_with_control_characters_are_422(alice: Caller) -> None:
    event = {"recipients": [alice.id], "project": "main", "type": "t", "payload": {}}
    room = {"project": "main", "name": "n", "members": []}
    work = {"project": "main", "payload": {}}
    keys = ("correlation_id", "causation_id", "ordering_key", "supersedes_key", "idempotency_key")
    for path, body, member in (
        *(("events", event, key) for key in (*keys, "type")),
        ("rooms", room, "name"),
        ("assignments", work, "capability"),
        ("assignments", work | {"policy": "sticky"}, "sticky_key"),
        ("A/inbox/claim", {}, "consumer"),
        ("A/inbox/claim", {}, "claim_id"),
    ):
        answer = alice.post(path, body | {member: "0123456789abcdef\x00"})
        assert answer.status_code == 422, (path, member)
        (fault,) = answer.json["errors"]
        assert fault["pointer"] == f"/{member}"
        assert fault["detail"].startswith("must have no control characters")
    untyped = {**event, "type": None, "payload": {"type": "a\x9f"}}
    assert faults(alice.post("events", untyped)) == ["/payload/type"]
    assert alice.claim() == []


def test_faults_are_told_in_our_words(alice: Caller) -> None:
    (fault,) = alice.post("A/inbox/claim", {"projects": []}).json["errors"]
    assert fault["detail"] == "must have at least 1 item"


def test_a_number_of_any_length_is_told_its_bound(alice: Caller) -> None:
    for path in ("A/inbox?after_cursor=", "A/memory?after_revision="):
        for digits in ("9223372036854775808", "1" + "0" * 25, "9" * 2000):
            (fault,) = alice.get(path + digits).json["errors"]
            assert fault["detail"] == "must be less than or equal to 9223372036854775807"


def test_the_agents_own_address_takes_no_recipients(alice: Caller) -> None:
    assert pointers(alice.post("A/events", publication(alice))) == ["/recipients"]


def test_a_recipient_named_twice_is_422(alice: Caller) -> None:
    answer = alice.post("events", publication(alice, recipients=[alice.id, alice.id]))
    assert pointers(answer) == ["/recipients"]


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
