"""Work that was claimed, whose lease ended, and that nobody has taken up again.

Claims take the lowest sequence of a rank first, so what was claimed once stands before what never was:
some events at the head of each project's queue tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Select, func, literal, null, select, union_all
from sqlalchemy.orm import Session

from restante.identity.administrators import Administrator
from restante.identity.projects import projects_of
from restante.identity.roles import Right
from restante.inbox.inbox_list import InboxLine
from restante.inbox.lifecycle import ClaimEnd, Gate, Status
from restante.storage.clock import database_now
from restante.storage.tables.events import agent_inbox
from restante.storage.tables.failures import event_failure

SINCE = timedelta(minutes=1)
"""Whoever is there takes up what can be claimed sooner than that."""
LOOKED_AT = 100
"""Events at the head of a queue."""


@dataclass(frozen=True, slots=True)
class Untaken:
    """So many of an inbox; `since`: when the first of their leases ended."""

    line: InboxLine
    count: int
    since: datetime


def list_untaken(
    session: Session, administrator: Administrator, lines: Sequence[InboxLine]
) -> list[Untaken]:
    """Of these inboxes those that have some, the one that waits longest first."""
    administrator.require(Right.EVENTS_READ)
    projects = [one.id for one in projects_of(session, administrator.tenant_id).values()]
    before = database_now(session) - SINCE
    found = []
    for line in lines:
        waits = line.counts[Status.PENDING] or line.counts[Status.CLAIMED]
        if not waits or not projects:
            continue
        looks = [_ended(line.agent.id, before), *(_heads(line.agent.id, id_) for id_ in projects)]
        heads = union_all(*(look.subquery().select() for look in looks)).subquery()
        ended_at = func.coalesce(heads.c.ended_at, event_failure.c.failed_at)
        row = (
            session.connection()
            .execute(
                select(func.count().label("number"), func.min(ended_at).label("since"))
                .select_from(heads)
                .outerjoin(event_failure, event_failure.c.event_id == heads.c.event_id)
                .where(heads.c.claim_ended_by == ClaimEnd.LEASE_OVER.value, ended_at <= before)
            )
            .one()
        )
        if row.number:
            found.append(Untaken(line, row.number, row.since))
    return sorted(found, key=lambda one: one.since)


def _heads(recipient_id: bytes, project_id: bytes) -> Select[tuple[bytes, int, datetime]]:
    """What a claim would take next."""
    return (
        select(
            agent_inbox.c.event_id,
            agent_inbox.c.claim_ended_by,
            null().cast(agent_inbox.c.claim_expires_at.type).label("ended_at"),
        )
        .with_hint(agent_inbox, "FORCE INDEX (claim)", "mysql")
        .where(
            agent_inbox.c.recipient_id == recipient_id,
            agent_inbox.c.project_id == project_id,
            agent_inbox.c.gate == Gate.CLAIMABLE.value,
        )
        .order_by(agent_inbox.c.rank, agent_inbox.c.sequence_number)
        .limit(LOOKED_AT)
    )


def _ended(recipient_id: bytes, before: datetime) -> Select[tuple[bytes, int, datetime]]:
    """Leases over whose rows nobody has rewritten: no maintenance runs, and nobody has looked."""
    return (
        select(
            agent_inbox.c.event_id,
            literal(ClaimEnd.LEASE_OVER.value).label("claim_ended_by"),
            agent_inbox.c.claim_expires_at.label("ended_at"),
        )
        .with_hint(agent_inbox, "FORCE INDEX (due_of_inbox)", "mysql")
        .where(
            agent_inbox.c.recipient_id == recipient_id,
            agent_inbox.c.due_at <= before,
            agent_inbox.c.gate == Gate.CLAIMED.value,
        )
        .order_by(agent_inbox.c.due_at)
        .limit(LOOKED_AT)
    )
