"""Moving a database into another one, row by row, as it is (contract section 8, `db copy`).

Ids, sequences, generations, fences and epochs are what they were, so agents go on with their cursors.
Nothing is ever deleted or changed but the target's incarnation: it says `copying:…` from before the
first row until every row has been looked at, and nothing else works on a database that says so.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import (
    Column,
    RowMapping,
    Table,
    and_,
    delete,
    exists,
    insert,
    literal,
    or_,
    select,
    update,
)
from sqlalchemy.orm import Session

from restante.errors import RestanteError
from restante.storage.incarnation import COPYING, current
from restante.storage.tables import metadata
from restante.storage.tables.audit import audit_chain
from restante.storage.tables.events import agent_inbox
from restante.storage.tables.inboxes import inbox
from restante.storage.tables.operation import incarnation, sample
from restante.storage.tables.signals import node, open_stream, wake
from restante.storage.transaction import Database

LEFT_OUT = {
    node: "which processes serve the old database",
    open_stream: "the streams they have open",
    wake: "rings that have been rung",
}
"""Tables that are true of the old place alone, and why."""

ROWS = 500
ROWS_WITH_BYTES = 100
"""Rows of a transaction, where each may hold a payload of 256 KiB."""

_MOVES_ON = (audit_chain, inbox, agent_inbox, sample, incarnation)
"""What changes when anything is done with a database."""

Tell = Callable[[str], None]


class CopyRefused(RestanteError):
    """The database cannot be copied like that."""


@dataclass(frozen=True, slots=True)
class Content:
    """How many rows a table has, and the sum of their hashes: equal where all rows are."""

    rows: int
    sum: int


def copied_tables() -> list[Table]:
    """Every table whose rows are copied, the incarnation last."""
    first = [t for t in metadata.sorted_tables if t not in LEFT_OUT and t is not incarnation]
    return [*first, incarnation]


def copy(source: Session, target: Database, tell: Tell) -> dict[str, Content]:
    """Copy all rows that one transaction on the source sees, go on with a copy that was broken off.

    What each table then holds, by its name; `tell` is told of each as it is done. `finish` is to
    follow. Raises CopyRefused where the target holds anything else, or has come to differ.
    """
    target.run(lambda session: _begin(source, session))
    found: dict[str, Content] = {}
    for table in copied_tables()[:-1]:
        _copy_rows(source, target, table)
        was = content(source, table)
        now = target.run(partial(content, table=table))
        if was != now:
            raise CopyRefused(
                f"{table.name} is not the same in both databases ({was.rows} rows here, {now.rows} there): "
                "the old one was written to after the copy began. Empty the target, run "
                "`restante db upgrade` on it, and begin anew with everything stopped."
            )
        found[table.name] = now
        tell(f"{table.name}: {now.rows}")
    return found


def pulse(session: Session) -> dict[str, Content]:
    """What tells whether anybody works with a database, if it is asked twice."""
    return {table.name: content(session, table) for table in _MOVES_ON}


def finish(session: Session, history: RowMapping) -> None:
    """Have the target be the history that the source was: from here on it can be served."""
    session.connection().execute(update(incarnation).values(dict(history)))


def history(session: Session) -> RowMapping:
    """The row of the database's incarnation."""
    current(session)
    return session.connection().execute(select(incarnation)).mappings().one()


def content(session: Session, table: Table) -> Content:
    """The content of a table, read in batches by its primary key."""
    rows, total = 0, 0
    for batch in _batches(session, table, None):
        rows += len(batch)
        total += sum(int.from_bytes(_hash(row), "big") for row in batch)
    return Content(rows, total % 2**256)


def filled_tables(session: Session) -> list[str]:
    """The names of the tables that hold a row, but for the incarnation."""
    connection = session.connection()
    asked = (t for t in metadata.sorted_tables if t is not incarnation)
    return [t.name for t in asked if connection.execute(select(_any_of(t))).scalar()]


def _begin(source: Session, session: Session) -> None:
    """Mark the target as half a copy of this source, or find the mark."""
    old = history(source)
    mark = COPYING + old["incarnation_id"]
    connection = session.connection()
    present = connection.execute(select(incarnation).with_for_update()).one_or_none()
    if present is not None and present.incarnation_id.startswith(COPYING):
        if (present.incarnation_id, present.mark) != (mark, old["mark"]):
            raise CopyRefused(
                "The target is half a copy of another database, or of this one before it was served again: "
                "empty it, run `restante db upgrade` on it, and begin anew."
            )
        return
    if filled := filled_tables(session):
        raise CopyRefused(
            f"The target holds rows already ({', '.join(filled[:5])}{', …' if filled[5:] else ''}), and a "
            "copy goes into an empty one: name another, or empty it and `restante db upgrade` it."
        )
    connection.execute(delete(incarnation))
    connection.execute(insert(incarnation), {**old, "incarnation_id": mark})


def _copy_rows(source: Session, target: Database, table: Table) -> None:
    after = target.run(lambda session: _last_key(session, table))
    for batch in _batches(source, table, after):
        rows = [dict(row) for row in batch]
        target.run(partial(_insert, table=table, rows=rows))


def _insert(session: Session, table: Table, rows: list[dict[str, Any]]) -> None:
    session.connection().execute(insert(table), rows)


def _batches(
    session: Session, table: Table, after: Sequence[Any] | None
) -> Iterator[Sequence[RowMapping]]:
    """All rows by primary key, after that key."""
    key = _key(table)
    limit = ROWS_WITH_BYTES if any(_is_long(c) for c in table.c) else ROWS
    while True:
        query = select(table).order_by(*key).limit(limit)
        if after is not None:
            query = query.where(_is_after(key, after))
        rows = session.connection().execute(query).mappings().all()
        if rows:
            yield rows
        if len(rows) < limit:
            return
        after = [rows[-1][column.key] for column in key]


def _key(table: Table) -> list[Column[Any]]:
    return list(table.primary_key.columns)


def _is_after(key: Sequence[Column[Any]], after: Sequence[Any]) -> Any:
    """(a, b) > (x, y), in the form that every server reads by its index."""
    column, value = key[0], after[0]
    if len(key) == 1:
        return column > value
    return and_(column >= value, or_(column > value, _is_after(key[1:], after[1:])))


def _last_key(session: Session, table: Table) -> Sequence[Any] | None:
    key = _key(table)
    newest = select(*key).order_by(*(column.desc() for column in key)).limit(1)
    return session.connection().execute(newest).one_or_none()


def _is_long(column: Column[Any]) -> bool:
    return column.type.python_type is bytes and getattr(column.type, "length", None) is None


def _hash(row: RowMapping) -> bytes:
    return hashlib.sha256(repr(tuple(row.values())).encode()).digest()


def _any_of(table: Table) -> Any:
    return exists(select(literal(1)).select_from(table))
