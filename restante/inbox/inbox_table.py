"""The inboxes of a tenant as a table: narrowed, in the order of a column, paged by the last row's place.

What lies in an inbox is ordered by the last sample, since no page counts events to find its rows: first
those that have something to be ordered by, along an index of the sample, then the others by name. Read
are those shown and those that a filter passes over; where they go by when they were seen, each agent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, and_, null, or_
from sqlalchemy.orm import Session

from restante.identity.administrators import Administrator
from restante.identity.machine_list import machine_of
from restante.identity.roles import Right
from restante.inbox.inbox_list import InboxLine, line_of
from restante.inbox.inbox_narrowing import LAY, Narrowing, Which
from restante.inbox.rules import rules
from restante.sampling.inbox_history import fresh_depths, latest_slot
from restante.storage import page_token
from restante.storage.clock import database_now
from restante.storage.tables.identity import principal
from restante.storage.tables.inboxes import presence


class By(StrEnum):
    """What inboxes are ordered by."""

    NAME = "name"
    PENDING = "pending"
    OLDEST = "oldest"
    CLAIMED = "claimed"
    QUARANTINED = "quarantined"
    SEEN = "seen"


@dataclass(frozen=True, slots=True)
class InboxPage:
    """`slot_at`: the half hour of the sample that they are ordered by; None: nothing was sampled yet."""

    lines: Sequence[InboxLine]
    next_page_token: str | None
    slot_at: datetime | None


def list_inboxes(
    session: Session,
    administrator: Administrator,
    *,
    limit: int,
    token: str | None = None,
    which: Which | None = None,
    begins: str = "",
    by: By = By.NAME,
    backwards: bool = False,
) -> InboxPage:
    """A page of them: by name from a to z; the most, the longest waiting and the last seen first.

    `begins`: those whose name begins like that. What has nothing to be ordered by comes last, either way.
    Raises PageTokenInvalid and what `Administrator.require` does.
    """
    administrator.require(Right.EVENTS_READ)
    tenant_id, now = administrator.tenant_id, database_now(session)
    of = ("inboxes", tenant_id.hex(), which or "", begins, by, str(backwards))
    place = page_token.take(session, of, token)
    narrowing = Narrowing(
        tenant_id=tenant_id, now=now, most=rules(session).max_pending, which=which, begins=begins
    )
    rows: list[Any] = []
    column = _COLUMNS.get(by)
    if column is not None and (place is None or place[0] is not None):
        falls = (by is not By.OLDEST) is not backwards
        rows += _first(session, narrowing, column, place, limit + 1, falls=falls)
        place = None
    if len(rows) <= limit and not _all_have(which, by):
        falls = by is By.NAME and backwards
        rows += _others(session, narrowing, column, place, limit + 1 - len(rows), falls=falls)
    shown, more = page_token.cut(session, of, rows, limit, _place)
    sampled = fresh_depths(session, tenant_id, [row.principal_id for row in shown], now)
    lines = [line_of(session, machine_of(row), now, sampled) for row in shown]
    return InboxPage(lines, more, latest_slot(session, tenant_id))


def _first(
    session: Session,
    narrowing: Narrowing,
    column: ColumnElement[Any],
    place: Any,
    limit: int,
    *,
    falls: bool,
) -> Sequence[Any]:
    """Those that have something to be ordered by, after that place; what is alike goes by id."""
    if column is _COLUMNS[By.SEEN]:
        query, id_ = narrowing.agents(), principal.c.principal_id
    else:
        query, id_ = narrowing.along(column), LAY.recipient_id
    query = query.add_columns(column.label("place")).where(_something(column))
    if place is not None:
        said, last = place[0], bytes.fromhex(place[1])
        value = datetime.fromisoformat(said) if isinstance(said, str) else said
        further = column < value if falls else column > value
        query = query.where(
            or_(further, and_(column == value, id_ < last if falls else id_ > last))
        )
    order = [column.desc(), id_.desc()] if falls else [column.asc(), id_.asc()]
    return session.connection().execute(query.order_by(*order).limit(limit)).all()


def _others(
    session: Session,
    narrowing: Narrowing,
    column: ColumnElement[Any] | None,
    place: Any,
    limit: int,
    *,
    falls: bool,
) -> Sequence[Any]:
    """Those that have nothing to be ordered by, by name after that place."""
    name = principal.c.name
    query = narrowing.agents().add_columns(null().label("place"))
    if column is not None:
        query = query.where(
            or_(column.is_(None), column == 0) if _counts(column) else column.is_(None)
        )
    if place is not None:
        query = query.where(name < place[1] if falls else name > place[1])
    query = query.order_by(name.desc() if falls else name.asc()).limit(limit)
    return session.connection().execute(query).all()


def _something(column: ColumnElement[Any]) -> ColumnElement[bool]:
    return column > 0 if _counts(column) else column.is_not(None)


def _counts(column: ColumnElement[Any]) -> bool:
    return column.type.python_type is int


def _all_have(which: Which | None, by: By) -> bool:
    """Whether nobody is among them without something to be ordered by."""
    return which is Which.AWAY_WITH_MAIL and by in (By.PENDING, By.OLDEST)


def _place(row: Any) -> list[Any]:
    """As a token has it: the figure and the id, or nothing and the name."""
    if row.place is None:
        return [None, row.name]
    said = row.place.isoformat() if isinstance(row.place, datetime) else row.place
    return [said, row.principal_id.hex()]


_COLUMNS: dict[By, ColumnElement[Any]] = {
    By.PENDING: LAY.pending,
    By.OLDEST: LAY.oldest_at,
    By.CLAIMED: LAY.claimed,
    By.QUARANTINED: LAY.quarantined,
    By.SEEN: presence.c.last_seen_at,
}
