"""Inboxes that are about to be full: what is published to them is refused soon."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.orm import Session

from restante.identity.administrators import Administrator
from restante.identity.machine_list import Machine, machine_of
from restante.identity.roles import Right
from restante.inbox.inbox_table import UNSETTLED, Which, narrowed, room_of, sampled_agents
from restante.inbox.rules import rules
from restante.sampling.inbox_history import latest_slot
from restante.storage.clock import database_now
from restante.storage.tables.identity import principal

COUNTED = 20


@dataclass(frozen=True, slots=True)
class Filling:
    """Of `most` unsettled events it had so many in the last sample."""

    agent: Machine
    unsettled: int
    most: int


def list_filling(session: Session, administrator: Administrator) -> list[Filling]:
    """The tenant's, the fullest first; at most COUNTED."""
    administrator.require(Right.EVENTS_READ)
    most, tenant_id = rules(session).max_pending, administrator.tenant_id
    query = (
        sampled_agents(tenant_id, latest_slot(session, tenant_id))
        .add_columns(UNSETTLED.label("unsettled"), room_of(most).label("room"))
        .where(narrowed(Which.FULL, database_now(session), most))
        .order_by((UNSETTLED / room_of(most)).desc(), principal.c.name)
        .limit(COUNTED)
    )
    rows = session.connection().execute(query)
    return [Filling(machine_of(row), row.unsettled, row.room) for row in rows]
