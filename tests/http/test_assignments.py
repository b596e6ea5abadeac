"""Assignments through the API (contract 6.2)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.http.assigning import assign, read, settle
from tests.http.world import Caller, World, unknown_id, verbs
from workers.assignments import Assignments
from workers.timers import Timers


@pytest.fixture
def producer(world: World) -> Caller:
    """A service that publishes everywhere and sees nothing else."""
    return world.service("acme", "planner", ["tenant:events:publish"])


@pytest.fixture
def one(world: World) -> Caller:
    return world.agent("acme", "one", verbs("main"))


@pytest.fixture
def two(world: World) -> Caller:
    return world.agent("acme", "two", verbs("main"))


def test_an_ack_completes_it_with_its_result(one: Caller, producer: Caller) -> None:
    made = assign(producer, one)
    assert (made["state"], made["agent_id"], made["result"]) == ("assigned", one.id, None)
    (event,) = one.claim()
    assert (event["event_id"], event["type"]) == (made["event_id"], "work_assignment")
    assert event["payload"] == {"ref": "main"}
    assert event["correlation_id"] == made["assignment_id"]
    one.post(
        f"A/inbox/{event['event_id']}/ack",
        {"claim_generation": event["claim_generation"], "result": {"built": True}},
    )
    told = read(producer, made)
    assert (told["state"], told["result"], told["agent_id"]) == (
        "completed",
        {"built": True},
        one.id,
    )
    assert told["ended_at"] is not None


def test_a_settle_of_many_completes_too(one: Caller, producer: Caller) -> None:
    made = [assign(producer, one) for _ in range(2)]
    events = one.claim()
    body = {
        "ack": [
            {
                "event_id": e["event_id"],
                "claim_generation": e["claim_generation"],
                "result": {"n": n},
            }
            for n, e in enumerate(events)
        ]
    }
    assert one.post("A/inbox/settle", body).status_code == 200
    assert [read(producer, m)["result"] for m in made] == [{"n": 0}, {"n": 1}]


def test_a_failed_one_goes_to_the_next_candidate(
    world: World, one: Caller, two: Caller, producer: Caller
) -> None:
    made = assign(producer, one, two)
    settle(one, "reject", reason="cannot")
    told = read(producer, made)
    assert (told["state"], told["agent_id"]) == ("assigned", two.id)
    assert told["event_id"] != made["event_id"]
    assert [d["chosen"] for d in told["routing"]] == [one.id, two.id]
    assert told["routing"][1]["reason"].startswith("quarantined: ")
    assert [c["why"] for c in told["routing"][1]["candidates"]] == ["had it before", None]
    # the old one stays where it is, and is not done here as well
    assert one.get(f"A/inbox/{made['event_id']}").json["status"] == "quarantined"
    assert one.get(f"A/inbox/{made['event_id']}").json["superseded_by"] == told["event_id"]
    settle(two, "ack", result={"by": "two"})
    assert read(producer, made)["result"] == {"by": "two"}


def test_as_many_as_may_have_failed_makes_it_unroutable(
    world: World, one: Caller, two: Caller, producer: Caller
) -> None:
    made = assign(producer, one, two, max_candidates=1)
    settle(one, "reject", reason="cannot")
    told = read(producer, made)
    assert (told["state"], told["agent_id"], len(told["routing"])) == ("unroutable", one.id, 2)
    assert two.claim() == []
    assert told["reason"]


def test_none_left_makes_it_unroutable(one: Caller, producer: Caller) -> None:
    made = assign(producer, one)
    settle(one, "reject", reason="cannot")
    assert read(producer, made)["state"] == "unroutable"


def test_no_candidate_at_all_is_unroutable_from_the_start(one: Caller, producer: Caller) -> None:
    for said in ({"capability": "paint"}, {"candidates": []}):
        made = assign(producer, **said)
        assert (made["state"], made["agent_id"], made["event_id"]) == ("unroutable", None, None)
        assert made["routing"][0]["chosen"] is None
        assert made["routing"][0]["reason"] == "no candidate"


def test_who_has_not_read_it_in_time_is_followed_by_the_next(
    world: World, one: Caller, two: Caller, producer: Caller
) -> None:
    made = assign(producer, one, two, unread_timeout_seconds=60)
    worker = Assignments(world.house.database)
    assert worker.run_once()["routed"] == 0
    world.pass_time(61)
    assert worker.run_once()["routed"] == 1
    told = read(producer, made)
    assert (told["state"], told["agent_id"]) == ("assigned", two.id)
    assert one.get(f"A/inbox/{made['event_id']}").json["status"] == "cancelled"
    assert one.claim() == []
    (event,) = two.claim()
    assert event["event_id"] == told["event_id"]
    # the last one reads it in time
    world.pass_time(30)
    two.post(f"A/inbox/{event['event_id']}/ack", {"claim_generation": 1})
    assert worker.run_once()["routed"] == 0
    assert read(producer, made)["state"] == "completed"


def test_unread_by_all_is_unroutable(world: World, one: Caller, producer: Caller) -> None:
    made = assign(producer, one, unread_timeout_seconds=60)
    world.pass_time(61)
    Assignments(world.house.database).run_once()
    told = read(producer, made)
    assert (told["state"], told["routing"][1]["chosen"]) == ("unroutable", None)
    assert one.claim() == []


def test_what_was_claimed_is_not_taken_away_as_unread(
    world: World, one: Caller, two: Caller, producer: Caller
) -> None:
    made = assign(producer, one, two, unread_timeout_seconds=60)
    settle(one, "release", delay_seconds=300)
    world.pass_time(61)
    worker = Assignments(world.house.database)
    worker.run_once()
    worker.run_once()
    assert (read(producer, made)["agent_id"], two.claim()) == (one.id, [])


def test_past_its_deadline_it_is_expired(world: World, one: Caller, producer: Caller) -> None:
    made = assign(producer, one, deadline_seconds=60)
    world.pass_time(61)
    Timers(world.house.database).run_once()
    assert read(producer, made)["state"] == "expired"
    assert one.claim() == []


def test_who_started_in_time_may_finish(world: World, one: Caller, producer: Caller) -> None:
    made = assign(producer, one, deadline_seconds=20)
    (event,) = one.claim()
    world.pass_time(30)
    one.post(f"A/inbox/{event['event_id']}/ack", {"claim_generation": 1, "result": {}})
    assert read(producer, made)["state"] == "completed"


def test_who_made_it_ends_it_with_a_token_that_may_publish_there(world: World, one: Caller) -> None:
    alice = world.agent("acme", "alice", [*verbs("main"), "agent:other:publish"])
    made = assign(alice, one)
    reads = world.narrowed(alice, ["agent:main:read", "agent:other:publish"])
    path = f"assignments/{made['assignment_id']}/cancel"
    assert read(reads, made)["state"] == "assigned"
    assert reads.post(path, {"reason": "by hand"}).status_code == 404
    assert read(alice, made)["state"] == "assigned"
    assert alice.post(path, {"reason": "by hand"}).status_code == 200


def test_it_is_cancelled_with_its_event(one: Caller, producer: Caller) -> None:
    made = assign(producer, one)
    path = f"assignments/{made['assignment_id']}/cancel"
    ended = producer.post(path, {"reason": "done by hand"})
    assert (ended.status_code, ended.json["state"]) == (200, "cancelled")
    assert ended.json["reason"] == "done by hand"
    assert one.claim() == []
    again = producer.post(path, {"reason": "again"})
    assert (again.status_code, again.json["type"]) == (409, "/problems/event-final")


def test_an_unroutable_one_is_cancelled_with_what_lies_in_quarantine(
    one: Caller, producer: Caller
) -> None:
    made = assign(producer, one)
    settle(one, "reject", reason="cannot")
    path = f"assignments/{made['assignment_id']}/cancel"
    assert producer.post(path, {"reason": "by hand"}).json["state"] == "cancelled"
    assert one.get(f"A/inbox/{made['event_id']}").json["status"] == "cancelled"


def test_a_holder_is_asked_to_stop_and_his_ack_wins(one: Caller, producer: Caller) -> None:
    for verb, state in (("ack", "completed"), ("release", "cancelled")):
        made = assign(producer, one)
        (event,) = one.claim()
        path = f"assignments/{made['assignment_id']}/cancel"
        asked = producer.post(path, {"reason": "no longer"})
        assert (asked.status_code, asked.json["state"]) == (202, "assigned")
        one.post(f"A/inbox/{event['event_id']}/{verb}", {"claim_generation": 1})
        told = read(producer, made)
        assert (told["state"], told["reason"]) == (state, "no longer")


def test_named_candidates_are_agents_of_the_tenant_that_have_the_project(
    world: World, one: Caller, producer: Caller
) -> None:
    world.tenant("globex", "main")
    for refused in (
        unknown_id("agt"),
        "agt_x",
        world.agent("globex", "stranger", verbs("main")).id,
        world.agent("acme", "elsewhere", verbs("other")).id,
    ):
        body = {"project": "main", "payload": {}, "candidates": [one.id, refused]}
        answer = producer.post("assignments", body)
        assert (answer.status_code, answer.json["recipients"]) == (422, [refused])


def test_it_is_seen_by_who_made_it_and_who_has_it(
    world: World, one: Caller, two: Caller, producer: Caller
) -> None:
    made = assign(producer, one)
    assert read(one, made)["assignment_id"] == made["assignment_id"]
    reader = world.service("acme", "reader", ["tenant:events:read"])
    assert read(reader, made)["state"] == "assigned"
    world.tenant("globex", "main")
    stranger = world.agent("globex", "stranger", verbs("main"))
    other = world.service("acme", "other", ["tenant:events:publish"])
    for who in (two, stranger, other):
        for named in (made["assignment_id"], unknown_id("asg"), "asg_x"):
            path = f"assignments/{named}"
            assert who.post(f"{path}/cancel", {"reason": "x"}).status_code == 404
            if who is not other:
                assert who.get(path).status_code == 404
    # who has it may read it, and ends it by settling only
    path = f"assignments/{made['assignment_id']}/cancel"
    assert one.post(path, {"reason": "x"}).status_code == 404
    assert read(producer, made)["state"] == "assigned"


def test_open_assignments_are_in_the_state(one: Caller, producer: Caller) -> None:
    made = assign(producer, one)
    (told,) = one.get("A/state").json["assignments"]
    assert (told["assignment_id"], told["event_id"]) == (made["assignment_id"], made["event_id"])
    settle(one, "ack")
    assert one.get("A/state").json["assignments"] == []


def test_a_repeat_with_the_same_key_assigns_nothing_twice(one: Caller, producer: Caller) -> None:
    body = {"project": "main", "payload": {}, "candidates": [one.id]}
    key = {"headers": {"Idempotency-Key": "k-1"}}
    first, again = (producer.post("assignments", body, **key) for _ in range(2))
    assert first.json["assignment_id"] == again.json["assignment_id"]
    assert again.headers["Idempotency-Replayed"] == "true"
    assert len(one.claim()) == 1


@pytest.mark.parametrize(
    ("said", "pointer"),
    [
        ({"policy": "sticky"}, "/sticky_key"),
        ({"sticky_key": "x"}, "/sticky_key"),
        ({"policy": "any"}, "/policy"),
        ({"max_candidates": 0}, "/max_candidates"),
        ({"deadline_seconds": 0}, "/deadline_seconds"),
        ({"unread_timeout_seconds": -1}, "/unread_timeout_seconds"),
        ({"payload": []}, "/payload"),
        ({"project": "no such"}, "/project"),
        ({"project": "nosuch"}, "/project"),
    ],
)
def test_what_is_wrong_is_named(producer: Caller, said: dict[str, Any], pointer: str) -> None:
    answer = producer.post("assignments", {"project": "main", "payload": {}, **said})
    assert answer.status_code == 422, answer.text
    assert [e["pointer"] for e in answer.json["errors"]] == [pointer]
