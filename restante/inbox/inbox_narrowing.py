"""Which agents of a tenant a table of inboxes shows, and by which index they are found."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import (
    ColumnElement,
    FromClause,
    Select,
    and_,
    exists,
    func,
    literal,
    not_,
    or_,
    select,
    true,
    union,
)

from restante.identity.machine_list import BY_NAME, BY_STATUS, MachineStatus, machines
from restante.identity.principal import PrincipalKind
from restante.inbox.polling import STREAM_ALIVE
from restante.inbox.reachability import POLLS, is_called
from restante.storage.tables.identity import principal
from restante.storage.tables.inboxes import presence
from restante.storage.tables.operation import inbox_standing
from restante.storage.tables.signals import node, open_stream

FULL = 0.8
"""From this share of its `max_pending` on an inbox is about to be full."""
LAY = inbox_standing.c
"""What the last sample says of an inbox; null: nothing lay in it."""


class Which(StrEnum):
    """Which of those that are not removed; or the removed ones."""

    ACTIVE = "active"
    AWAY = "away"
    AWAY_WITH_MAIL = "away_with_mail"
    PAUSED = "paused"
    FULL = "full"
    DISABLED = "disabled"
    REMOVED = "removed"


_IDLE = frozenset({Which.PAUSED, Which.DISABLED, Which.REMOVED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Narrowing:
    """Of a tenant's agents those; `most`: the limit of an inbox that has none of its own."""

    tenant_id: bytes
    now: datetime
    most: int
    which: Which | None = None
    begins: str = ""

    def agents(self) -> Select[Any]:
        """Them, for `machine_of`, each beside how its inbox stood; found by name, unless they are few."""
        if self.which is Which.FULL:
            found = self._may_be_full()
            agents = found.join(principal, principal.c.principal_id == found.c.recipient_id)
            return self._of(agents.outerjoin(inbox_standing, _ITS))
        index = BY_STATUS if self.which in _IDLE else BY_NAME
        return self._of(principal.outerjoin(inbox_standing, _ITS)).with_hint(
            principal, index, "mysql"
        )

    def along(self, column: ColumnElement[Any]) -> Select[Any]:
        """Those in whose inbox something lay, by the index of that column of the standing.

        Where those that are looked for may be few, they are found first instead.
        """
        if self.begins or self.which is Which.FULL or self.which in _IDLE:
            return self.agents()
        index = f"FORCE INDEX (ix_inbox_standing_tenant_id_{column.key}_recipient_id)"
        return (
            self._of(inbox_standing.join(principal, _ITS))
            .where(LAY.tenant_id == self.tenant_id)
            .with_hint(inbox_standing, index, "mysql")
            .prefix_with("STRAIGHT_JOIN", dialect="mysql")
        )

    def limited(self) -> Select[Any]:
        """Those that have a limit of their own, if something lay in their inboxes."""
        return (
            self._of(principal.join(inbox_standing, _ITS))
            .where(principal.c.max_pending.is_not(None))
            .with_hint(principal, "FORCE INDEX (ix_principal_tenant_id_max_pending)", "mysql")
            .prefix_with("STRAIGHT_JOIN", dialect="mysql")
        )

    def _of(self, source: FromClause) -> Select[Any]:
        there = presence.c.recipient_id == principal.c.principal_id
        query = select(*machines().selected_columns).select_from(source.outerjoin(presence, there))
        query = query.where(
            principal.c.tenant_id == self.tenant_id,
            principal.c.kind == PrincipalKind.AGENT.value,
            self._let_through(self.which),
        )
        if self.begins:
            query = query.where(principal.c.name.startswith(self.begins, autoescape=True))
        return query

    def _let_through(self, which: Which | None) -> ColumnElement[bool]:
        status = principal.c.status
        active = status == MachineStatus.ACTIVE.value
        there = status != MachineStatus.REMOVED.value
        match which:
            case None:
                return there
            case Which.ACTIVE | Which.DISABLED | Which.REMOVED:
                return status == which.value
            case Which.PAUSED:
                return and_(active, principal.c.paused == true())
            case Which.FULL:
                room = func.coalesce(principal.c.max_pending, self.most)
                return and_(there, FULL * room <= LAY.unsettled)
            case Which.AWAY:
                since = presence.c.last_seen_at
                unseen = or_(since.is_(None), since <= self.now - POLLS)
                heard = or_(_streams(self.now), is_called(principal.c.principal_id))
                return and_(active, not_(principal.c.paused), unseen, not_(heard))
            case Which.AWAY_WITH_MAIL:
                return and_(self._let_through(Which.AWAY), LAY.pending > 0)

    def _may_be_full(self) -> FromClause:
        """By what lay in them for the usual limit, and all that have another."""
        usual = select(LAY.recipient_id).where(
            LAY.tenant_id == self.tenant_id, LAY.unsettled >= FULL * self.most
        )
        others = select(principal.c.principal_id).where(
            principal.c.tenant_id == self.tenant_id, principal.c.max_pending.is_not(None)
        )
        return union(usual, others).subquery("may_be_full")


def _streams(now: datetime) -> ColumnElement[bool]:
    return exists(
        select(literal(1))
        .select_from(open_stream.join(node, node.c.node_id == open_stream.c.node_id))
        .where(
            open_stream.c.recipient_id == principal.c.principal_id,
            node.c.seen_at > now - STREAM_ALIVE,
        )
    )


_ITS = LAY.recipient_id == principal.c.principal_id
