"""The end of assignments: kept for as long as events are, after they have ended."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from restante.inbox.rules import rules
from restante.storage.clock import database_now
from restante.storage.tables.assignments import assignment, assignment_event, assignment_routing

ASSIGNMENTS = 200
"""A batch: each has an event and a decision for every candidate that had it."""


def prune_assignments(session: Session) -> int:
    """Delete assignments that ended longer ago than events are kept; returns how many.

    An event of one that is redriven out of quarantine after that completes nothing any more.
    """
    connection = session.connection()
    before = database_now(session) - timedelta(seconds=rules(session).retention_seconds)
    found = connection.execute(
        select(assignment.c.assignment_id)
        .where(assignment.c.ended_at < before)
        .order_by(assignment.c.ended_at)
        .limit(ASSIGNMENTS)
    )
    ended = found.scalars().all()
    if ended:
        for table in (assignment, assignment_event, assignment_routing):
            connection.execute(delete(table).where(table.c.assignment_id.in_(ended)))
    return len(ended)
