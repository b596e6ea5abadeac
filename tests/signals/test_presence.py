"""When agents were seen and how far they have read."""

from __future__ import annotations

from typing import Any

from sqlalchemy import select

from restante.signals.presence import MOST_ROWS, PAUSE_SECONDS, Notes, write_presence
from restante.storage.tables.inboxes import presence
from tests.factories import pass_time
from tests.support.databases import TestDatabase

ME, OTHER = b"m" * 16, b"o" * 16


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def row(database: TestDatabase, recipient_id: bytes = ME) -> Any:
    statement = select(presence).where(presence.c.recipient_id == recipient_id)
    return database.run(lambda session: session.connection().execute(statement).one())


def write(database: TestDatabase, seen: dict[bytes, int | None]) -> None:
    database.run(lambda session: write_presence(session, seen))


def test_marks_only_go_up(database: TestDatabase) -> None:
    write(database, {ME: 5, OTHER: None})
    first = row(database)
    assert (first.read_cursor, first.read_at) == (5, first.last_seen_at)
    assert (row(database, OTHER).read_cursor, row(database, OTHER).read_at) == (0, None)
    pass_time(database, 10)
    write(database, {ME: 3})
    second = row(database)
    assert (second.read_cursor, second.read_at) == (5, first.read_at)
    assert second.last_seen_at > first.last_seen_at
    write(database, {ME: None, OTHER: 2})
    assert (row(database).read_cursor, row(database).read_at) == (5, first.read_at)
    pass_time(database, 10)
    write(database, {ME: 8})
    assert row(database).read_cursor == 8
    assert row(database).read_at > first.read_at
    assert row(database, OTHER).read_cursor == 2


def test_nothing_seen_writes_nothing(database: TestDatabase) -> None:
    write(database, {})


def test_an_agent_is_told_of_at_most_once_in_ten_seconds() -> None:
    clock = Clock()
    notes = Notes(clock=clock)
    notes.note(ME, read_cursor=3)
    notes.note(ME)
    notes.note(ME, read_cursor=2)
    assert notes.take() == {ME: 3}
    notes.note(ME, read_cursor=4)
    notes.note(OTHER)
    assert notes.take() == {OTHER: None}
    clock.now += PAUSE_SECONDS
    assert notes.take() == {ME: 4}
    assert notes.take() == {}


def test_many_agents_are_written_in_bounded_pieces() -> None:
    notes = Notes(clock=Clock())
    for number in range(MOST_ROWS + 5):
        notes.note(number.to_bytes(16))
    assert (len(notes.take()), len(notes.take()), len(notes.take())) == (MOST_ROWS, 5, 0)
