"""The one event of a redrive or a patch that goes first: the rest follow once it is completed.

They stay in quarantine where it fails once more, ends otherwise, or is not completed in time.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from restante.errors import NotFound
from restante.inbox import locate
from restante.inbox.lifecycle import FINAL_GATES, Gate
from restante.inbox.triage.jobs import State
from restante.inbox.triage.patching import CONTENT_DROPPED
from restante.storage.clock import database_now
from restante.storage.tables.failures import event_failure
from restante.storage.tables.triage import triage_item

WAITED = timedelta(minutes=10)
"""So long it is waited for."""
LOOKED_AFTER = timedelta(seconds=1)


class Stopped(StrEnum):
    """Why the rest of a job did not go."""

    FAILED = "canary_failed"
    LATE = "canary_late"


def sent(session: Session, event_id: bytes) -> dict[str, Any]:
    """What a job keeps once its first event is put back."""
    now = database_now(session)
    return {"canary_id": event_id, "canary_until": now + WAITED, "due_at": now + LOOKED_AFTER}


def look(session: Session, job: Any) -> dict[str, Any]:
    """What a job keeps after a look at its first event: it goes on waiting, goes on, or is over."""
    now = database_now(session)
    match _ended(session, job, now):
        case None:
            return {"canary_until": job.canary_until, "due_at": now + LOOKED_AFTER}
        case Gate.COMPLETED:
            return {"canary_until": None, "due_at": now, "rest_at": now}
        case because:
            # lock order: what is left to do, then the job
            session.connection().execute(
                delete(triage_item).where(triage_item.c.job_id == job.job_id)
            )
            return {
                "state": State.CANCELLED,
                "finished_at": now,
                "due_at": None,
                "canary_until": None,
                **CONTENT_DROPPED,
                "stopped_because": because,
            }


def _ended(session: Session, job: Any, now: datetime) -> Gate | Stopped | None:
    try:
        gate = locate.by_event_id(session, job.canary_id).gate
    except NotFound:
        return Stopped.FAILED
    if gate is Gate.COMPLETED:
        return gate
    failed_at = (
        session.connection()
        .execute(select(event_failure.c.failed_at).where(event_failure.c.event_id == job.canary_id))
        .scalar()
    )
    went_at = job.canary_until - WAITED
    if gate in FINAL_GATES or gate is Gate.QUARANTINED or (failed_at and failed_at > went_at):
        return Stopped.FAILED
    return Stopped.LATE if now >= job.canary_until else None
