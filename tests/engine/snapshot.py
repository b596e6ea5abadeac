"""What a verb changed, and what it must not have changed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from restante.storage.tables import metadata
from restante.storage.transaction import Database
from tests.support.databases import FILLED

Rows = dict[tuple[str, Any], tuple[Any, ...]]
# what the world is told, and what is only ever a bound
HINTS = {"wake", "sample"}
LOG = "agent_inbox"


def snapshot(database: Database) -> Rows:
    """Every row of every table, by table and primary key."""

    def work(session: Session) -> Rows:
        rows: Rows = {}
        filled = set(session.connection().exec_driver_sql(FILLED).scalars())
        for table in metadata.sorted_tables:
            if table.name in HINTS or table.name not in filled:
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


def changed_events(before: Rows, after: Rows) -> set[bytes]:
    """The events that changed rows belong to."""
    places = {
        key[1]: row[2] for rows in (before, after) for key, row in rows.items() if key[0] == LOG
    }
    found = set()
    for table, key in changed_rows(before, after):
        if table in (LOG, "event_content"):
            found.add(places[key])
        elif table in ("scheduled_event", "archived_event", "event_failure", "event_history"):
            found.add(key[0])
    return found


@contextmanager
def only_changing(database: Database, *event_ids: bytes) -> Iterator[None]:
    """All events that change within are these, and each of them does."""
    before = snapshot(database)
    yield
    assert changed_events(before, snapshot(database)) == set(event_ids)


@contextmanager
def unchanged(database: Database) -> Iterator[None]:
    """Not one row of any table changes within."""
    before = snapshot(database)
    yield
    assert changed_rows(before, snapshot(database)) == set()
