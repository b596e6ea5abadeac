"""What is left of an assignment that has ended, and for how long."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import Table, func, select

from restante.storage.ids import Prefix, decode_id
from restante.storage.tables.assignments import (
    assignment,
    assignment_event,
    assignment_routing,
    assignment_sticky,
)
from tests.http.assigning import assign, settle
from tests.http.world import Caller, World, verbs
from workers.pruner import Pruner


@pytest.fixture
def producer(world: World) -> Caller:
    return world.service("acme", "planner", ["tenant:events:publish"])


@pytest.fixture
def one(world: World) -> Caller:
    return world.agent("acme", "one", verbs("main"))


@pytest.fixture
def two(world: World) -> Caller:
    return world.agent("acme", "two", verbs("main"))


def rows_of(world: World, table: Table) -> int:
    counted = select(func.count()).select_from(table)
    return int(world.house.database.run(lambda s: s.connection().execute(counted).scalar_one()))


def test_its_payload_is_dropped_with_its_end(
    world: World, one: Caller, two: Caller, producer: Caller
) -> None:
    """Of the event it is dropped at completion (contract 2.8), and a copy would outlive it."""

    def kept(made: dict[str, Any]) -> bytes:
        assignment_id = decode_id(Prefix.ASSIGNMENT, made["assignment_id"])
        asked = select(assignment.c.payload).where(assignment.c.assignment_id == assignment_id)
        found: bytes = world.house.database.run(lambda s: s.connection().execute(asked).scalar())
        return found

    open_one = assign(producer, two)
    done, called_off = assign(producer, one), assign(producer, two)
    settle(one, "ack")
    path = f"assignments/{called_off['assignment_id']}/cancel"
    assert producer.post(path, {"reason": "by hand"}).status_code == 200
    unroutable = assign(producer, capability="none has it")
    assert [kept(m) for m in (done, called_off)] == [b"", b""]
    assert kept(unroutable) == b'{"ref": "main"}'  # until it is reassigned, called off or pruned
    assert kept(open_one) != b""


def test_it_is_kept_for_as_long_as_events_are_after_its_end(
    world: World, one: Caller, two: Caller, producer: Caller
) -> None:
    assign(producer, one)
    assign(producer, two)  # and this one stays open
    settle(one, "ack")
    for days, kept in ((29, 2), (2, 1)):
        world.pass_time(days * 86_400)
        Pruner(world.house.database).run_once()
        for table in (assignment, assignment_event, assignment_routing):
            assert rows_of(world, table) == kept


def test_work_of_a_key_is_given_anew_after_a_long_time(
    world: World, one: Caller, producer: Caller
) -> None:
    assign(producer, one, policy="sticky", sticky_key="acme/site")
    for days, kept in ((89, 1), (2, 0)):
        world.pass_time(days * 86_400)
        Pruner(world.house.database).run_once()
        assert rows_of(world, assignment_sticky) == kept
