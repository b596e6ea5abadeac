"""Messages of a call that differ in their payloads alone are looked at once; nothing else tells."""

from __future__ import annotations

from typing import Any

import pytest

from tests.http.test_bodies import pointers, publication
from tests.http.world import Caller


@pytest.fixture
def settings() -> dict[str, object]:
    return {"payload_limit_bytes": 2048}


def numbered(alice: Caller, *numbers: int, **said: Any) -> list[dict[str, Any]]:
    return [publication(alice, type="t", payload={"n": n}, **said) for n in numbers]


def test_each_keeps_its_place_and_what_it_says(alice: Caller, bob: Caller) -> None:
    """Runs of alike ones, to one and to two recipients, one of another kind between them."""
    both = {"recipients": [alice.id, bob.id]}
    events = [
        *numbered(alice, 1, 2),
        *numbered(alice, 3, priority=5, correlation_id="c"),
        *numbered(alice, 4, 5, 6, **both),
    ]
    told = alice.post("events", {"events": events}).json["events"]
    assert [event["sequence_number"] for event in told] == [1, 2, 3, 4, 1, 5, 2, 6, 3]
    assert [event["recipient_id"] for event in told[3:]] == [alice.id, bob.id] * 3
    read = alice.get("A/inbox").json["events"]
    assert [event["payload"]["n"] for event in read] == [1, 2, 3, 4, 5, 6]
    assert [event["priority"] for event in read] == [0, 0, 5, 0, 0, 0]
    assert [event["correlation_id"] for event in read] == [None, None, "c", None, None, None]
    assert [event["event_id"] for event in read] == [
        event["event_id"] for event in told if event["recipient_id"] == alice.id
    ]
    assert [event["payload"]["n"] for event in bob.get("A/inbox").json["events"]] == [4, 5, 6]


def test_each_has_the_type_of_its_own_payload(alice: Caller) -> None:
    events = [publication(alice, payload={"type": kind}) for kind in ("a", "b", "c")]
    assert alice.post("events", {"events": events}).status_code == 201
    assert [event["type"] for event in alice.get("A/inbox").json["events"]] == ["a", "b", "c"]
    events[1]["payload"] = {}
    assert pointers(alice.post("events", {"events": [*numbered(alice, 1, 2), *events]})) == [
        "/events/3/type"
    ]


def test_faults_are_told_where_they_are(alice: Caller) -> None:
    """Of alike ones each, and of those behind them by their place in the call."""
    bad = numbered(alice, 1, 2, 3, priority=101)
    assert pointers(alice.post("events", {"events": [*numbered(alice, 0), *bad]})) == [
        f"/events/{index}/priority" for index in (1, 2, 3)
    ]
    late = {"available_at": "2031-01-02T00:00:00Z", "expires_at": "2031-01-01T00:00:00Z"}
    behind = [*numbered(alice, 1, 2), *numbered(alice, 3, **late)]
    assert pointers(alice.post("events", {"events": behind})) == ["/events/2/expires_at"]
    nowhere = [*numbered(alice, 1, 2), *numbered(alice, 3, recipients=[alice.id] * 2)]
    assert pointers(alice.post("events", {"events": nowhere})) == ["/events/2/recipients"]
    keyed = [*numbered(alice, 1, 2), *numbered(alice, 3, 4, idempotency_key="k")]
    assert pointers(alice.post("events", {"events": keyed})) == ["/events/3/idempotency_key"]
    large = [*numbered(alice, 1, 2), publication(alice, type="t", payload={"text": "x" * 2048})]
    answer = alice.post("events", {"events": large})
    assert (answer.status_code, answer.json["pointer"]) == (413, "/events/2/payload")
    assert alice.get("A/inbox").json["events"] == []


def test_the_key_of_a_message_is_good_for_the_next_call(alice: Caller) -> None:
    """It stands alone in its call, or behind others that are alike."""
    keyed = numbered(alice, 3, idempotency_key="k")
    (made,) = alice.post("events", {"events": keyed}).json["events"]
    again = alice.post("events", {"events": [*numbered(alice, 1, 2), *keyed]}).json["events"]
    assert [event.get("existing", False) for event in again] == [False, False, True]
    assert again[2]["event_id"] == made["event_id"]
