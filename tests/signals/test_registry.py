"""Open streams as rows that all processes share."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from restante.signals import registry
from restante.signals.registry import Opened
from restante.storage.ids import new_id
from restante.storage.tables.signals import node, open_stream
from tests.factories import pass_time
from tests.support.databases import TestDatabase

HERE, THERE = b"h" * 16, b"t" * 16
ME, OTHER = b"m" * 16, b"o" * 16


def write(
    database: TestDatabase, node_id: bytes, opened: list[Opened], closed: list[bytes]
) -> None:
    database.run(lambda session: registry.write_changes(session, node_id, opened, closed))


def rows(database: TestDatabase) -> dict[bytes, bytes]:
    """Stream id → node id."""
    found = select(open_stream.c.stream_id, open_stream.c.node_id)
    return {
        row.stream_id: row.node_id
        for row in database.run(lambda s: s.connection().execute(found).all())
    }


def streams(count: int, recipient_id: bytes = ME, *, age: float = 0) -> list[Opened]:
    return [Opened(new_id(), recipient_id, age - number) for number in range(count)]


def test_openings_and_closings_are_written_together(database: TestDatabase) -> None:
    first, second, brief = streams(3)
    write(database, HERE, [first, second, brief], [brief.stream_id])
    assert rows(database) == {first.stream_id: HERE, second.stream_id: HERE}
    write(database, HERE, [], [first.stream_id, brief.stream_id])
    assert rows(database) == {second.stream_id: HERE}


def test_the_oldest_beyond_eight_go_wherever_they_are(database: TestDatabase) -> None:
    old, young, foreign = streams(3, age=100), streams(7, age=50), streams(9, OTHER)
    write(database, THERE, old, [])
    write(database, HERE, young + foreign[:8], [])
    gone = database.run(lambda session: registry.take_surplus(session, {ME}))
    assert set(gone) == {old[0].stream_id, old[1].stream_id}
    assert len(rows(database)) == 16
    assert database.run(lambda session: registry.take_surplus(session, {ME, OTHER})) == []


def test_a_process_learns_how_many_rows_it_has(database: TestDatabase) -> None:
    def seen() -> int | None:
        return database.run(lambda session: registry.is_seen(session, HERE))

    assert seen() is None
    some = streams(3)
    write(database, HERE, some, [])
    assert seen() == 3
    database.run(lambda session: registry.leave(session, HERE))
    assert seen() is None
    assert rows(database) == {}


def test_a_process_not_seen_for_a_minute_is_forgotten(database: TestDatabase) -> None:
    database.run(lambda session: registry.is_seen(session, HERE))
    write(database, HERE, streams(2), [])
    pass_time(database, 40)
    database.run(lambda session: registry.is_seen(session, THERE))
    write(database, THERE, streams(1), [])
    assert database.run(registry.forget_nodes) == 0
    pass_time(database, 30)
    assert database.run(registry.forget_nodes) == 1
    assert set(rows(database).values()) == {THERE}
    left = database.run(lambda s: s.connection().execute(select(node.c.node_id)).scalars().all())
    assert left == [THERE]


def test_writing_anew_replaces_what_there_was(database: TestDatabase) -> None:
    before, after = streams(3), streams(2)
    write(database, HERE, before, [])
    write(database, THERE, other := streams(1), [])
    database.run(lambda session: registry.write_all(session, HERE, [before[0], *after]))
    kept = {before[0].stream_id, *(s.stream_id for s in after)}
    assert database.run(lambda session: registry.registered(session, HERE)) == kept
    assert database.run(lambda session: registry.registered(session, THERE)) == {other[0].stream_id}


@pytest.mark.parametrize("count", [0, 1, 250])
def test_any_number_of_closings_is_one_write(database: TestDatabase, count: int) -> None:
    some = streams(count)
    write(database, HERE, some, [])
    write(database, HERE, [], [s.stream_id for s in some])
    assert rows(database) == {}
