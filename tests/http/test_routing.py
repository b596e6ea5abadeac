"""Whom a policy chooses, and why the others were not (contract 6.2)."""

from __future__ import annotations

from typing import Any

import pytest

from restante.storage.ids import Prefix, decode_id
from restante.storage.tables.identity import principal
from tests.http.assigning import assign
from tests.http.world import Caller, World, verbs


def set_agent(world: World, agent: Caller, **columns: Any) -> None:
    id_ = decode_id(Prefix.AGENT, agent.id)
    changed = principal.update().where(principal.c.principal_id == id_).values(columns)
    world.house.database.run(lambda s: s.connection().execute(changed))


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


def test_the_least_loaded_of_those_that_are_there_has_it(
    world: World, one: Caller, two: Caller, producer: Caller
) -> None:
    producer.publish(one)
    assert assign(producer, policy="least_loaded")["agent_id"] == two.id
    for _ in range(3):
        producer.publish(two)
    assert assign(producer, policy="least_loaded")["agent_id"] == one.id


def test_sticky_work_goes_to_who_has_its_key(
    world: World, one: Caller, two: Caller, producer: Caller
) -> None:
    said = {"policy": "sticky", "sticky_key": "acme/site"}
    first = assign(producer, one, two, **said)
    agent, other = (one, two) if first["agent_id"] == one.id else (two, one)
    for _ in range(3):
        producer.publish(agent)
    assert assign(producer, one, two, **said)["agent_id"] == agent.id
    elsewhere = assign(producer, one, two, policy="sticky", sticky_key="another")
    assert elsewhere["agent_id"] == other.id
    set_agent(world, agent, paused=True)
    moved = assign(producer, one, two, **said)
    assert moved["agent_id"] == other.id
    set_agent(world, agent, paused=False)
    assert assign(producer, one, two, **said)["agent_id"] == other.id


def test_why_a_candidate_was_not_chosen_is_told(
    world: World, one: Caller, two: Caller, producer: Caller
) -> None:
    off = world.agent("acme", "off", verbs("main"))
    set_agent(world, off, status="disabled")
    set_agent(world, one, paused=True)
    set_agent(world, two, capabilities='["build"]')
    made = assign(producer, off, one, two, capability="build")
    told = made["routing"][0]
    assert told["chosen"] == two.id
    assert [c["why"] for c in told["candidates"]] == [
        "is disabled",
        "has not the capability build",
        None,
    ]


def test_what_fails_together_is_spread_over_the_others(
    world: World, one: Caller, two: Caller, producer: Caller
) -> None:
    """In one transaction, in which none of it is written yet."""
    last = world.agent("acme", "last", verbs("main"))
    for _ in range(5):
        producer.publish(two, last)
    for _ in range(4):
        assert assign(producer, one, two, last, policy="least_loaded")["agent_id"] == one.id
    refusal = {"claim_generation": 1, "reason": "no"}
    held = [{"event_id": event["event_id"], **refusal} for event in one.claim(limit=10)]
    assert one.post("A/inbox/settle", {"reject": held}).status_code == 200
    assert [len(agent.claim(limit=10)) for agent in (two, last)] == [7, 7]
