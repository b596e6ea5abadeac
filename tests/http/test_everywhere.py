"""The API from end to end, on each database."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from tests.http.world import Caller, World, open_world
from tests.support.databases import TestDatabase


@pytest.fixture
def world(database: TestDatabase, settings: dict[str, object]) -> Iterator[World]:
    with open_world(database.url, settings) as one:
        yield one


PAYLOAD = '{ "type": "job", "n": 1.0, "big": 123456789012345678901234567890, "text": "\\u00e4ä" }'


def test_an_event_from_publication_to_receipt(world: World, alice: Caller, bob: Caller) -> None:
    body = f'{{"recipients":["{alice.id}"],"project":"main","payload":{PAYLOAD},"correlation_id":"c1"}}'
    made = bob.post("events", data=body, content_type="application/json")
    assert made.status_code == 201, made.text
    (event,) = made.json["events"]
    assert event == {
        "event_id": event["event_id"],
        "recipient_id": alice.id,
        "sequence_number": 1,
        "status": "pending",
        "reachability": {"mode": "away", "last_seen_at": None, "pending": 1},
    }
    read = alice.get("A/inbox")
    assert f'"payload":{PAYLOAD}' in read.text
    assert read.json["next_cursor"] == 1
    claimed = alice.post("A/inbox/claim", {"consumer": "one", "claim_id": "a-claim-of-alice-1"})
    assert f'"payload":{PAYLOAD}' in claimed.text
    (taken,) = claimed.json["events"]
    assert (taken["claim_generation"], taken["attempts"], taken["status"]) == (1, 1, "claimed")
    assert alice.post("A/inbox/claim", {}).json["events"] == []
    again = alice.post("A/inbox/claim", {"consumer": "one", "claim_id": "a-claim-of-alice-1"})
    assert [e["event_id"] for e in again.json["events"]] == [event["event_id"]]
    assert [e["event_id"] for e in alice.get("A/inbox/claims").json["events"]] == [
        event["event_id"]
    ]
    path = f"A/inbox/{event['event_id']}"
    renewed = alice.post(
        f"{path}/renew", {"claim_generation": 1, "lease_seconds": 120, "progress": {"n": 1}}
    )
    assert renewed.json["lease_remaining_ms"] > 110_000
    acked = alice.post(
        f"{path}/ack",
        data='{"claim_generation":1,"result":{ "ok" : 1.50 }}',
        content_type="application/json",
    )
    assert acked.json["status"] == "completed"
    repeated = alice.post(f"{path}/ack", {"claim_generation": 1})
    assert repeated.json == acked.json
    detail = alice.get(path)
    assert '"result":{ "ok" : 1.50 }' in detail.text
    assert (detail.json["payload"], detail.json["timeline"]) == (None, [])
    receipt = bob.get(f"events/{event['event_id']}")
    assert (receipt.json["status"], receipt.json["result"]) == ("completed", {"ok": 1.5})
    listed = bob.get("events?correlation_id=c1").json["events"]
    assert [e["event_id"] for e in listed] == [event["event_id"]]


def test_failures_release_reject_and_late_settles(world: World, alice: Caller, bob: Caller) -> None:
    ids = [bob.publish(alice)[0]["event_id"] for _ in range(3)]
    assert [e["event_id"] for e in alice.claim(limit=3)] == ids
    released = alice.post(
        f"A/inbox/{ids[0]}/release",
        {"claim_generation": 1, "delay_seconds": 30, "error": {"code": "down", "message": "no"}},
    )
    assert (released.json["status"], released.json["not_before"] is not None) == ("pending", True)
    rejected = alice.post(f"A/inbox/{ids[1]}/reject", {"claim_generation": 1, "reason": "nonsense"})
    assert rejected.json["status"] == "quarantined"
    world.pass_time(61)
    late = alice.post(f"A/inbox/{ids[2]}/ack", {"claim_generation": 1})
    assert (late.status_code, late.json["type"]) == (409, "/problems/stale-claim")
    assert (late.json["reason"], late.json["current_generation"]) == ("lease_expired", 1)
    detail = alice.get(f"A/inbox/{ids[0]}").json
    assert detail["last_error"]["code"] == "down"
    assert [entry["kind"] for entry in detail["timeline"]] == ["released"]
    stats = alice.get("A/inbox/stats").json
    assert (stats["pending"], stats["quarantined"], stats["claimed"], stats["head"]) == (2, 1, 0, 3)


def test_many_at_once_each_by_itself(world: World, alice: Caller, bob: Caller) -> None:
    ids = [e["event_id"] for _ in range(4) for e in bob.publish(alice)]
    alice.claim(limit=3)
    answer = alice.post(
        "A/inbox/settle",
        {
            "renew": [{"event_id": ids[2], "claim_generation": 1}],
            "ack": [
                {"event_id": ids[0], "claim_generation": 1, "result": {"n": 1}},
                {"event_id": ids[1], "claim_generation": 9},
                {"event_id": "evt_nonsense", "claim_generation": 1},
            ],
            "release": [{"event_id": ids[3], "claim_generation": 1}],
        },
    )
    assert answer.status_code == 200
    results = answer.json["results"]
    assert [r["event_id"] for r in results] == [ids[0], ids[1], "evt_nonsense", ids[3], ids[2]]
    assert (results[0]["status"], results[4]["status"]) == ("completed", "claimed")
    assert [r["problem"]["type"] for r in results[1:4]] == [
        "/problems/stale-claim",
        "/problems/not-found",
        "/problems/stale-claim",
    ]
    assert results[1]["problem"]["reason"] == results[3]["problem"]["reason"] == "never_claimed"


def test_a_cursor_reader_commits_and_is_told_when_its_history_is_gone(
    world: World, alice: Caller, bob: Caller
) -> None:
    for _ in range(3):
        bob.publish(alice)
    page = alice.get("A/inbox?limit=2").json
    assert (page["next_cursor"], page["has_more"], page["claimable"]) == (2, True, 3)
    committed = alice.post("A/inbox/commit", {"through_cursor": 2, "epoch": page["epoch"]})
    assert committed.json == {"completed": 2, "has_more": False}
    still_open = alice.get("A/inbox?status=open").json
    assert [e["sequence_number"] for e in still_open["events"]] == [3]
    for path in ("A/inbox?after_cursor=4", f"A/inbox?after_cursor=1&epoch={'0' * 32}"):
        gone = alice.get(path)
        assert (gone.status_code, gone.json["type"]) == (410, "/problems/cursor-gone")
        assert (gone.json["reason"], gone.json["head"]) == ("epoch", 3)
        assert gone.json["state_url"] == f"/api/v1/agents/{alice.id}/state"
    beyond = alice.post("A/inbox/commit", {"through_cursor": 4})
    assert beyond.json["errors"][0]["pointer"] == "/through_cursor"


def test_cancel_before_during_and_after(world: World, alice: Caller, bob: Caller) -> None:
    ids = [bob.publish(alice)[0]["event_id"] for _ in range(2)]
    first = bob.post(f"events/{ids[0]}/cancel", {"reason": "no longer needed"})
    assert (first.status_code, first.json["status"]) == (200, "cancelled")
    alice.claim()
    second = bob.post(f"events/{ids[1]}/cancel", {"reason": "no longer needed"})
    assert (second.status_code, second.json["status"]) == (202, "cancel_requested")
    renewed = alice.post(f"A/inbox/{ids[1]}/renew", {"claim_generation": 1})
    assert renewed.json["cancel_requested"] is True
    acked = alice.post(f"A/inbox/{ids[1]}/ack", {"claim_generation": 1})
    assert acked.json["cancel_requested"] is True
    final = bob.post(f"events/{ids[1]}/cancel", {"reason": "too late"})
    assert (final.status_code, final.json["type"]) == (409, "/problems/event-final")


def test_scheduled_events_get_their_place_when_they_are_due(
    world: World, alice: Caller, bob: Caller
) -> None:
    (event,) = bob.publish(alice, delay_seconds=20)
    assert (event["sequence_number"], event["status"]) == (None, "scheduled")
    assert alice.get("A/inbox/stats").json["scheduled"] == 1
    world.pass_time(21)
    assert [e["sequence_number"] for e in alice.claim()] == [1]


def test_one_idempotency_key_makes_one_event(world: World, alice: Caller, bob: Caller) -> None:
    body = {"recipients": [alice.id], "project": "main", "payload": {"type": "t"}}
    first, second = (
        bob.post("events", body, headers={"Idempotency-Key": "key-1"}) for _ in range(2)
    )
    assert (first.status_code, second.status_code) == (201, 201)
    (made,), (again,) = first.json["events"], second.json["events"]
    # how a recipient can be reached is told anew
    assert made | {"reachability": None} == again | {"reachability": None}
    assert "Idempotency-Replayed" not in first.headers
    assert second.headers["Idempotency-Replayed"] == "true"
    other = bob.post("events", {**body, "priority": 1}, headers={"Idempotency-Key": "key-1"})
    assert (other.status_code, other.json["type"]) == (422, "/problems/idempotency-key-reused")
    assert alice.get("A/inbox/stats").json["head"] == 1
    # another principal's key of the same name is another key
    mine = alice.post("events", body, headers={"Idempotency-Key": "key-1"})
    assert mine.json["events"][0]["sequence_number"] == 2


def test_two_idempotency_keys_are_none(alice: Caller, bob: Caller) -> None:
    """WSGI joins the lines of a field; our server tells them apart."""
    body = {"recipients": [alice.id], "project": "main", "payload": {"type": "t"}}
    for lines, status in (([("Idempotency-Key", "a"), ("idempotency-key", "b")], 422), ([], 201)):
        answer = bob.post(
            "events",
            body,
            headers={"Idempotency-Key": "a,b"},
            environ_overrides={"gunicorn.socket": SimpleNamespace(lines=lines)},
        )
        assert answer.status_code == status, answer.text
    assert alice.get("A/inbox/stats").json["head"] == 1


def test_a_publications_own_key_names_its_event(world: World, alice: Caller, bob: Caller) -> None:
    (first,) = bob.publish(alice, idempotency_key="k")
    (second,) = bob.publish(alice, idempotency_key="k")
    assert second["event_id"] == first["event_id"]
    assert second["existing"] is True
    body = {
        "recipients": [alice.id],
        "project": "main",
        "payload": {"type": "t"},
        "idempotency_key": "k",
    }
    answer = bob.post("events", body)
    assert (answer.status_code, answer.json["type"]) == (422, "/problems/idempotency-key-reused")


def test_readiness_tells_the_lag_of_maintenance(world: World, alice: Caller, bob: Caller) -> None:
    bob.publish(alice)
    alice.claim(lease_seconds=1)
    assert world.client.get("/health/ready").json == {
        "status": "ready",
        "maintenance_lag_seconds": 0.0,
    }
    world.pass_time(11)
    lag = world.client.get("/health/ready").json["maintenance_lag_seconds"]
    assert 9 < lag < 20


def test_the_trace_of_a_claim_goes_to_the_timeline(
    world: World, alice: Caller, bob: Caller
) -> None:
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    ids = [bob.publish(alice)[0]["event_id"] for _ in range(3)]
    traced = alice.post(
        "A/inbox/claim", {"limit": 2, "consumer": "c"}, headers={"traceparent": trace}
    )
    assert len(traced.json["events"]) == 2
    alice.claim()
    told = [alice.get(f"A/inbox/{event_id}").json["timeline"] for event_id in ids]
    assert told[2] == []
    for (entry,) in told[:2]:
        assert entry | {"at": ""} == {
            "at": "",
            "kind": "claimed",
            "generation": 1,
            "consumer": "c",
            "reason": trace,
        }


def test_a_turn_its_memory_and_the_state(world: World, alice: Caller, bob: Caller) -> None:
    bob.publish(alice)
    (event,) = alice.claim()
    value = '{ "n" : 1.50, "text": "\\u00e4ä" }'
    body = (
        f'{{"ack":{{"event_id":"{event["event_id"]}","claim_generation":1}},'
        f'"memory":[{{"project":"main","key":"ä/b","value":{value}}}],'
        f'"publish":[{{"recipients":["{bob.id}"],"project":"main","payload":{{"type":"t"}}}}]}}'
    )
    sent = {"data": body, "content_type": "application/json", "headers": {"Idempotency-Key": "t"}}
    first, again = (alice.post("A/inbox/turn", **sent) for _ in range(2))
    assert (first.status_code, again.json) == (200, first.json)
    assert again.headers["Idempotency-Replayed"] == "true"
    assert bob.get("A/inbox/stats").json["head"] == 1
    read = alice.get("A/memory/main/ä/b")
    assert f'"value":{value}' in read.text
    written = bob.call(
        "PATCH", f"agents/{alice.id}/memory/main/ä/b", json={"merge": {"n": None, "m": 2}}
    )
    assert (written.json["version"], written.json["value"]) == (2, {"text": "ää", "m": 2})
    assert alice.get("A/inbox").json["events"][-1]["type"] == "memory_update"
    stale = alice.call("DELETE", "A/memory/main/ä/b", headers={"If-Match": read.headers["ETag"]})
    assert (stale.status_code, stale.json["current_version"]) == (412, 2)
    state = alice.get("A/state").json
    assert (state["cursor"], state["memory_revision"], state["claimable"]) == (2, 2, 1)
    assert [(e["key"], e["version"]) for e in state["memory"]] == [("ä/b", 2)]
    assert alice.get("A/memory?after_revision=1").json["entries"] == state["memory"]
