"""Inboxes that are about to be full: what is published to them is refused soon."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.orm import Session

from restante.identity.administrators import Administrator
from restante.identity.machine_list import Machine, machine_of
from restante.identity.roles import Right
from restante.inbox.inbox_narrowing import FULL, LAY, Narrowing
from restante.inbox.rules import rules
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
    """The tenant's, the fullest first; at most COUNTED.

    Read are the deepest of those with the usual limit, and all that have another.
    """
    administrator.require(Right.EVENTS_READ)
    most, own = rules(session).max_pending, principal.c.max_pending
    of = Narrowing(tenant_id=administrator.tenant_id, now=database_now(session), most=most)
    usual = of.along(LAY.unsettled).where(own.is_(None), LAY.unsettled >= FULL * most)
    limited = of.limited().where(LAY.unsettled >= FULL * own)
    found = []
    for query, share in ((usual, LAY.unsettled), (limited, LAY.unsettled / own)):
        rows = session.connection().execute(
            query.add_columns(LAY.unsettled).order_by(share.desc()).limit(COUNTED)
        )
        found += [Filling(machine_of(row), row.unsettled, row.max_pending or most) for row in rows]
    found.sort(key=lambda one: (-one.unsettled / one.most, one.agent.name))
    return found[:COUNTED]
