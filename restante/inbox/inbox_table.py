"""The inboxes of a tenant as a table: narrowed, in the order of a column, paged by the last row's place.

What lies in an inbox is ordered by the last sample, since no page counts events to find its rows. Read
are the tenant's agents, each once, and no event but those counted in the rows of the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, case, exists, func, literal, not_, or_, select
from sqlalchemy.orm import Session

from restante.identity.administrators import Administrator
from restante.identity.machine_list import MachineStatus, machine_of, machines
from restante.identity.principal import PrincipalKind
from restante.identity.roles import Right
from restante.inbox.inbox_list import InboxLine, line_of
from restante.inbox.polling import STREAM_ALIVE
from restante.inbox.reachability import POLLS
from restante.inbox.rules import rules
from restante.sampling.inbox_history import fresh_depths, latest_slot
from restante.storage import page_token
from restante.storage.clock import database_now
from restante.storage.tables.identity import principal
from restante.storage.tables.inboxes import presence
from restante.storage.tables.operation import inbox_history
from restante.storage.tables.signals import node, open_stream

FULL = 0.8
"""From this share of its `max_pending` on an inbox is about to be full."""


class Which(StrEnum):
    """Which of those that are not removed; or the removed ones."""

    ACTIVE = "active"
    AWAY = "away"
    AWAY_WITH_MAIL = "away_with_mail"
    PAUSED = "paused"
    FULL = "full"
    DISABLED = "disabled"
    REMOVED = "removed"


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
    slot_at = latest_slot(session, tenant_id)
    order = _ORDERS[by]
    if backwards:
        order = replace(order, falls=not order.falls)
    query = (
        sampled_agents(tenant_id, slot_at)
        .add_columns(order.column.label("place"))
        .where(narrowed(which, now, rules(session).max_pending))
        .order_by(*order.clauses())
        .limit(limit + 1)
    )
    if begins:
        query = query.where(principal.c.name.startswith(begins, autoescape=True))
    if place is not None:
        query = query.where(order.beyond(*place))
    rows = session.connection().execute(query).all()
    shown, more = page_token.cut(session, of, rows, limit, lambda row: [_said(row.place), row.name])
    sampled = fresh_depths(session, tenant_id, [row.principal_id for row in shown], now)
    lines = [line_of(session, machine_of(row), now, sampled) for row in shown]
    return InboxPage(lines, more, slot_at)


def sampled_agents(tenant_id: bytes, slot_at: datetime | None) -> Select[Any]:
    """The tenant's agents, each with what the sample says of its inbox; null: it was empty."""
    return (
        machines()
        .outerjoin(
            inbox_history,
            and_(
                inbox_history.c.recipient_id == principal.c.principal_id,
                inbox_history.c.slot_at == slot_at,
            ),
        )
        .where(principal.c.tenant_id == tenant_id, principal.c.kind == PrincipalKind.AGENT.value)
    )


def narrowed(which: Which | None, now: datetime, most: int) -> ColumnElement[bool]:
    """Of `sampled_agents` those; `most`: the limit of an inbox that has none of its own."""
    status = principal.c.status
    active = status == MachineStatus.ACTIVE.value
    there = status != MachineStatus.REMOVED.value
    match which:
        case None:
            return there
        case Which.ACTIVE | Which.DISABLED | Which.REMOVED:
            return status == which.value
        case Which.PAUSED:
            return and_(active, principal.c.paused)
        case Which.FULL:
            return and_(there, FULL * room_of(most) <= UNSETTLED)
        case Which.AWAY:
            unseen = or_(presence.c.last_seen_at.is_(None), presence.c.last_seen_at <= now - POLLS)
            return and_(active, not_(principal.c.paused), unseen, not_(_streams(now)))
        case Which.AWAY_WITH_MAIL:
            return and_(narrowed(Which.AWAY, now, most), _LIES.pending > 0)


def _streams(now: datetime) -> ColumnElement[bool]:
    return exists(
        select(literal(1))
        .select_from(open_stream.join(node, node.c.node_id == open_stream.c.node_id))
        .where(
            open_stream.c.recipient_id == principal.c.principal_id,
            node.c.seen_at > now - STREAM_ALIVE,
        )
    )


def room_of(most: int) -> ColumnElement[int]:
    """How much may lie in an inbox: its own limit, or `most`."""
    return func.coalesce(principal.c.max_pending, most)


def _said(value: Any) -> Any:
    """As a token has it: an instant is a list of one text."""
    return [value.isoformat()] if isinstance(value, datetime) else value


@dataclass(frozen=True, slots=True)
class _Order:
    """By a column that may be null or not, then by name."""

    column: ColumnElement[Any]
    falls: bool = False
    may_lack: bool = False

    def clauses(self) -> list[ColumnElement[Any]]:
        """What has nothing comes last."""
        lacking = [case((self.column.is_(None), 1), else_=0)] if self.may_lack else []
        return [*lacking, self.column.desc() if self.falls else self.column.asc(), principal.c.name]

    def beyond(self, value: Any, name: str) -> ColumnElement[bool]:
        """What comes after that place."""
        if value is None:
            return and_(self.column.is_(None), principal.c.name > name)
        if isinstance(value, list):
            value = datetime.fromisoformat(value[0])
        further: ColumnElement[bool] = self.column < value if self.falls else self.column > value
        if self.column is principal.c.name:  # no two have one
            return further
        of_same = and_(self.column == value, principal.c.name > name)
        return (
            or_(further, of_same, self.column.is_(None)) if self.may_lack else or_(further, of_same)
        )


_LIES = inbox_history.c
UNSETTLED = _LIES.pending + _LIES.scheduled
_ORDERS = {
    By.NAME: _Order(principal.c.name),
    By.PENDING: _Order(func.coalesce(_LIES.pending, 0), falls=True),
    By.OLDEST: _Order(_LIES.oldest_at, may_lack=True),
    By.CLAIMED: _Order(func.coalesce(_LIES.claimed, 0), falls=True),
    By.QUARANTINED: _Order(func.coalesce(_LIES.quarantined, 0), falls=True),
    By.SEEN: _Order(presence.c.last_seen_at, falls=True, may_lack=True),
}
"""As they go where nobody turned them round."""
