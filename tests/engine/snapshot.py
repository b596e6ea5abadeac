"""What a verb changed, and what it must not have changed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from restante.storage.tables import metadata
from restante.storage.tables.events import agent_inbox
from restante.storage.transaction import Database

Rows = dict[tuple[str, Any], tuple[Any, ...]]
# what the world is told, and what is only ever a bound
HINTS = {"wake", "sample"}


def snapshot(database: Database) -> Rows:
    """Every row of every table, by table and primary key."""

    def work(session: Session) -> Rows:
        rows: Rows = {}
        for table in metadata.sorted_tables:
            if table.name in HINTS:
                continue
            keys = [column.name for column in table.primary_key]
            for row in session.connection().execute(select(table)):
                mapping = row._mapping
                rows[table.name, tuple(mapping[k] for k in keys)] = tuple(row)
        return rows

    return database.run(work)


def changed_rows(before: Rows, after: Rows) -> set[tuple[str, Any]]:
    """Table and key of each row that came, went or differs."""
    return {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}


def events_of(database: Database, changed: set[tuple[str, Any]]) -> set[bytes]:
    """The events that changed rows belong to."""

    def work(session: Session) -> dict[tuple[bytes, int], bytes]:
        rows = session.connection().execute(
            select(
                agent_inbox.c.recipient_id, agent_inbox.c.sequence_number, agent_inbox.c.event_id
            )
        )
        return {(r.recipient_id, r.sequence_number): r.event_id for r in rows}

    places = database.run(work)
    found = set()
    for table, key in changed:
        if table in ("agent_inbox", "event_content"):
            found.add(places.get(key, key))
        elif table in ("scheduled_event", "archived_event", "event_failure", "event_history"):
            found.add(key[0])
    return found


@contextmanager
def only_changing(database: Database, *event_ids: bytes) -> Iterator[None]:
    """All events that change within are these, and each of them does."""
    before = snapshot(database)
    yield
    changed = events_of(database, changed_rows(before, snapshot(database)))
    assert changed == set(event_ids)


@contextmanager
def unchanged(database: Database) -> Iterator[None]:
    """Not one row of any table changes within."""
    before = snapshot(database)
    yield
    assert changed_rows(before, snapshot(database)) == set()
