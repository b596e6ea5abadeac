"""How much there is in an inbox. Counts are exact to 10,000 and say when they stop there."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import func, literal, select, union_all
from sqlalchemy.orm import Session

from restante.identity.principal import Principal, Project
from restante.identity.scopes import Verb
from restante.inbox.browse import seen
from restante.inbox.envelope import instant
from restante.inbox.lifecycle import PENDING_GATES, Gate
from restante.inbox.polling import STREAM_ALIVE
from restante.inbox.ranks import ranks
from restante.storage.tables.events import agent_inbox, scheduled_event
from restante.storage.tables.inboxes import presence
from restante.storage.tables.signals import node, open_stream

MOST = 10_000

_COUNTED = (*PENDING_GATES, Gate.CLAIMED, Gate.QUARANTINED)


def stats(session: Session, agent: Principal) -> dict[str, Any]:
    """The inbox in numbers, as JSON has them; pending and the like in covered projects only."""
    projects = agent.require_any(Verb.READ)
    first = seen(session, agent, projects)
    counts = _counts(session, agent.id, projects)
    told: dict[str, Any] = {}
    for name, gates in (
        ("pending", PENDING_GATES),
        ("claimable", (Gate.CLAIMABLE,)),
        ("scheduled", (Gate.SCHEDULED,)),
        ("claimed", (Gate.CLAIMED,)),
        ("quarantined", (Gate.QUARANTINED,)),
    ):
        total = sum(counts.get(gate, 0) for gate in gates)
        told[name] = min(total, MOST)
        if total > MOST:
            told["capped"] = True
    oldest = oldest_pending_at(session, agent.id, projects)
    streams, last_seen_at = _presence(session, agent.id, first.now)
    return told | {
        "oldest_pending_age_seconds": None
        if oldest is None
        else max(0.0, (first.now - oldest).total_seconds()),
        "head": first.head,
        "oldest_cursor": first.oldest_cursor,
        "epoch": first.epoch.hex(),
        "streams": streams,
        "last_seen_at": instant(last_seen_at),
    }


def oldest_pending_at(
    session: Session, recipient_id: bytes, projects: Sequence[Project]
) -> datetime | None:
    """When the longest pending event became available: the lowest sequence of each rank, by index."""
    lowest = [
        sequence
        for project in projects
        for gate in PENDING_GATES
        for _, sequence in ranks(session, recipient_id, project.id, gate)
    ]
    if not lowest:
        return None
    return (
        session.connection()
        .execute(
            select(func.min(agent_inbox.c.available_at)).where(
                agent_inbox.c.recipient_id == recipient_id,
                agent_inbox.c.sequence_number.in_(lowest),
            )
        )
        .scalar()
    )


def _counts(session: Session, recipient_id: bytes, projects: Sequence[Project]) -> dict[Gate, int]:
    parts = []
    for project in projects:
        for gate in _COUNTED:
            rows = (
                select(literal(1).label("one"))
                .where(
                    agent_inbox.c.recipient_id == recipient_id,
                    agent_inbox.c.project_id == project.id,
                    agent_inbox.c.gate == gate.value,
                )
                .limit(MOST + 1)
                .subquery()
            )
            parts.append(select(literal(gate.value).label("gate"), func.count()).select_from(rows))
        waiting = (
            select(literal(1).label("one"))
            .with_hint(scheduled_event, "FORCE INDEX (scheduled_of_inbox)", "mysql")
            .where(
                scheduled_event.c.recipient_id == recipient_id,
                scheduled_event.c.project_id == project.id,
                scheduled_event.c.due_at.is_not(None),
            )
            .limit(MOST + 1)
            .subquery()
        )
        parts.append(
            select(literal(Gate.SCHEDULED.value).label("gate"), func.count()).select_from(waiting)
        )
    counts: dict[Gate, int] = {}
    for value, number in session.connection().execute(union_all(*parts)):
        counts[Gate(value)] = counts.get(Gate(value), 0) + number
    return counts


def _presence(session: Session, recipient_id: bytes, now: datetime) -> tuple[int, datetime | None]:
    connection = session.connection()
    streams = connection.execute(
        select(func.count())
        .select_from(open_stream)
        .join(node, node.c.node_id == open_stream.c.node_id)
        .where(open_stream.c.recipient_id == recipient_id, node.c.seen_at > now - STREAM_ALIVE)
    ).scalar_one()
    last_seen_at = connection.execute(
        select(presence.c.last_seen_at).where(presence.c.recipient_id == recipient_id)
    ).scalar()
    return streams, last_seen_at
