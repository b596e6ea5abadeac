"""Reassign: an assignment is taken from who has it, or from nobody, and goes to another (issue 6)."""

from __future__ import annotations

from typing import Any

import pytest

from restante.storage.tables.assignments import assignment
from tests.console.browsing import audited
from tests.http.assigning import assign, read, settle
from tests.http.test_routing import set_agent
from tests.http.world import Caller, World, unknown_id, verbs
from workers.assignments import Assignments


@pytest.fixture
def boss(world: World) -> Caller:
    return world.service(
        "acme",
        "boss",
        ["tenant:events:publish", "tenant:events:cancel", "tenant:quarantine:write"],
    )


@pytest.fixture
def one(world: World) -> Caller:
    return world.agent("acme", "one", verbs("main"))


@pytest.fixture
def two(world: World) -> Caller:
    return world.agent("acme", "two", verbs("main"))


def reassign(by: Caller, made: dict[str, Any], **said: Any) -> Any:
    path = f"admin/assignments/{made['assignment_id']}/reassign"
    return by.post(path, {"reason": "gone fishing", **said})


def refused(answer: Any, pointer: str) -> str:
    assert answer.status_code == 422, answer.text
    (error,) = answer.json["errors"]
    assert error["pointer"] == pointer
    return str(error["detail"])


def test_by_its_policy_it_goes_to_the_next_and_the_old_event_is_cancelled(
    world: World, boss: Caller, one: Caller, two: Caller
) -> None:
    made = assign(boss, one, two)
    answer = reassign(boss, made)
    assert answer.status_code == 200, answer.text
    told = answer.json
    assert (told["state"], told["agent_id"]) == ("assigned", two.id)
    assert told["event_id"] != made["event_id"]
    last = told["routing"][-1]
    assert last["reason"] == "reassigned: first in order that is eligible"
    assert [(c["agent_id"], c["why"]) for c in last["candidates"]] == [
        (one.id, "had it before"),
        (two.id, None),
    ]
    assert one.claim() == []
    receipt = boss.get(f"events/{made['event_id']}").json
    assert receipt["status"] == "cancelled"
    entry = audited(world)[-1]
    assert (entry.action, entry.target) == ("assignment.reassign", made["assignment_id"])
    assert entry.reason == f"to {two.id}: gone fishing"
    settle(two, "ack", result={"by": "two"})
    assert (read(boss, made)["state"], read(boss, made)["result"]) == ("completed", {"by": "two"})
    assert reassign(boss, made).json["type"] == "/problems/event-final"


def test_by_hand_it_goes_to_whom_its_policy_would_not_have_chosen(
    world: World, boss: Caller, one: Caller, two: Caller
) -> None:
    set_agent(world, two, paused=True)
    made = assign(boss, one, capability=None)
    told = reassign(boss, made, agent_id=two.id).json
    assert (told["agent_id"], told["routing"][-1]["reason"]) == (
        two.id,
        "reassigned: chosen by hand",
    )
    assert told["routing"][-1]["candidates"][-1]["why"] == "is paused"
    assert reassign(boss, made, agent_id=one.id).json["agent_id"] == one.id
    assert [event["event_id"] for event in one.claim()] == [read(boss, made)["event_id"]]


def test_who_cannot_be_given_it_is_refused_and_nothing_changes(
    world: World, boss: Caller, one: Caller, two: Caller
) -> None:
    made = assign(boss, one)
    world.tenant("rival", "main")
    theirs = world.agent("rival", "theirs", verbs("main"))
    without = world.agent("acme", "without", verbs("main", "read"))
    before = read(boss, made)
    nobody = [theirs.id, without.id, unknown_id("agt"), "x"]
    said = {refused(reassign(boss, made, agent_id=one), "/agent_id") for one in nobody}
    assert said == {"nobody gets it: has no such project"}
    assert "has it already" in refused(reassign(boss, made, agent_id=one.id), "/agent_id")
    set_agent(world, two, status="disabled")
    assert "is disabled" in refused(reassign(boss, made, agent_id=two.id), "/agent_id")
    set_agent(world, two, status="active", max_pending=0)
    assert "has a full inbox" in refused(reassign(boss, made, agent_id=two.id), "/agent_id")
    assert "no candidate is eligible" in refused(reassign(boss, made), "")
    assert read(boss, made) == before
    assert len(one.claim()) == 1


def test_what_is_claimed_takes_force_and_its_late_ack_completes_nothing(
    boss: Caller, one: Caller, two: Caller
) -> None:
    made = assign(boss, one, two)
    (event,) = one.claim()
    assert "works on it" in refused(reassign(boss, made), "/force")
    generation = {"claim_generation": event["claim_generation"]}
    path = f"A/inbox/{event['event_id']}"
    assert not one.post(f"{path}/renew", generation).json["cancel_requested"]
    assert reassign(boss, made, force=True).json["agent_id"] == two.id
    assert one.post(f"{path}/renew", generation).json["cancel_requested"]
    assert one.post(f"{path}/ack", {**generation, "result": {"by": "one"}}).status_code == 200
    assert read(boss, made)["state"] == "assigned"
    settle(two, "ack", result={"by": "two"})
    assert read(boss, made)["result"] == {"by": "two"}


def test_what_nobody_could_do_is_given_to_one_who_can_now(
    world: World, boss: Caller, one: Caller
) -> None:
    made = assign(boss, capability="build", payload={"ref": "v1"})
    assert made["state"] == "unroutable"
    refused(reassign(boss, made), "")
    set_agent(world, one, capabilities='["build"]')
    told = reassign(boss, made).json
    assert (told["state"], told["agent_id"], told["ended_at"]) == ("assigned", one.id, None)
    (event,) = one.claim()
    assert event["payload"] == {"ref": "v1"}


def test_what_failed_is_superseded_and_may_fail_as_often_again(
    boss: Caller, one: Caller, two: Caller
) -> None:
    made = assign(boss, one, max_candidates=1)
    settle(one, "reject", reason="cannot")
    assert read(boss, made)["state"] == "unroutable"
    told = reassign(boss, made, agent_id=two.id).json
    assert (told["state"], told["reason"]) == ("assigned", None)
    wanted = {"event_ids": [made["event_id"]], "reason": "again"}
    answer = boss.post("admin/quarantine/redrive", wanted)
    assert "superseded_by" in refused(answer, "/event_ids/0")
    settle(two, "reject", reason="neither")
    assert read(boss, made)["reason"] == "1 candidate failed, as many as may try"


def test_unread_for_too_long_it_goes_on_from_the_new_one(
    world: World, boss: Caller, one: Caller, two: Caller
) -> None:
    made = assign(boss, one, unread_timeout_seconds=60)
    world.pass_time(50)
    reassign(boss, made, agent_id=two.id)
    worker = Assignments(world.house.database)
    world.pass_time(50)
    assert (worker.run_once()["routed"], read(boss, made)["agent_id"]) == (0, two.id)
    world.pass_time(11)
    assert (worker.run_once()["routed"], read(boss, made)["state"]) == (1, "unroutable")
    set_agent(world, one, paused=True)
    # what is unread and cancelled is nobody's to lose
    assert reassign(boss, made, agent_id=one.id).json["agent_id"] == one.id


def test_past_its_deadline_it_goes_nowhere(world: World, boss: Caller, one: Caller) -> None:
    made = assign(boss, capability="none", deadline_seconds=60)
    world.pass_time(61)
    assert "deadline has passed" in refused(reassign(boss, made, agent_id=one.id), "")


def test_what_an_older_release_did_not_keep_is_taken_from_its_last_event(
    world: World, boss: Caller, one: Caller, two: Caller
) -> None:
    failed, never = assign(boss, one, max_candidates=1), assign(boss, capability="none")
    settle(one, "reject", reason="cannot")
    world.house.database.run(
        lambda s: s.connection().execute(assignment.update().values(payload=b""))
    )
    assert reassign(boss, failed, agent_id=two.id).status_code == 200
    assert [event["payload"] for event in two.claim()] == [{"ref": "main"}]
    assert "not kept any more" in refused(reassign(boss, never, agent_id=two.id), "")
    assert read(boss, never)["state"] == "unroutable"


def test_it_takes_both_scopes(world: World, boss: Caller, one: Caller, two: Caller) -> None:
    made = assign(boss, one, two)
    for held, missing in (("publish", "cancel"), ("cancel", "publish")):
        half = world.service("acme", held, [f"tenant:events:{held}"])
        answer = reassign(half, made)
        assert answer.status_code == 403, answer.text
        assert answer.json["required_scope"] == f"tenant:events:{missing}"
    assert reassign(one, made).status_code == 403
    assert read(boss, made)["agent_id"] == one.id


def test_a_repeat_with_its_key_moves_it_once(boss: Caller, one: Caller, two: Caller) -> None:
    made = assign(boss, one, two)
    path = f"admin/assignments/{made['assignment_id']}/reassign"
    said = {"json": {"reason": "r"}, "headers": {"Idempotency-Key": "k"}}
    first, again = (boss.post(path, **said) for _ in range(2))
    assert (first.status_code, again.json) == (200, first.json)
    assert again.headers["Idempotency-Replayed"] == "true"
    assert len(read(boss, made)["routing"]) == 2
