"""What running jobs have still to do of the quarantined events that somebody looks at, by kind of failure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from restante.identity.administrators import Administrator
from restante.identity.roles import Right
from restante.inbox.triage.jobs import Job, job_of
from restante.inbox.triage.selection import Filter
from restante.storage.tables.failures import event_failure
from restante.storage.tables.triage import triage_item, triage_job

JOBS = 20
"""So many are told, the newest."""
LOOKED_AT = 2_000
"""Events of each that are looked at, the next ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """So many events of one kind that a job has not come to yet."""

    failure_signature: str
    code: str
    message: str
    many: int


@dataclass(frozen=True, slots=True)
class UnderWay:
    """A running job. `left`: of what is meant, the most first; `cut`: it has more than were looked at."""

    job: Job
    left: tuple[Left, ...]
    cut: bool

    @property
    def many(self) -> int:
        """Of all kinds together."""
        return sum(one.many for one in self.left)

    def of(self, failure_signature: str) -> int:
        """Of one kind."""
        return sum(one.many for one in self.left if one.failure_signature == failure_signature)


def under_way(
    session: Session,
    administrator: Administrator,
    chosen: Filter | Sequence[bytes | None] | None = None,
    *,
    job_id: bytes | None = None,
) -> list[UnderWay]:
    """The tenant's running jobs, the newest first, and what each has left of the events that are meant.

    `job_id`: of that one alone. Only what it will still do counts: not what has left quarantine since,
    nor what came back. Raises what `Administrator.require` does.
    """
    administrator.require(Right.QUARANTINE_READ)
    wanted = select(triage_job).where(
        triage_job.c.tenant_id == administrator.tenant_id, triage_job.c.due_at.is_not(None)
    )
    if job_id is not None:
        wanted = wanted.where(triage_job.c.job_id == job_id)
    rows = session.connection().execute(wanted.order_by(triage_job.c.job_id.desc()).limit(JOBS))
    return [_left(session, job_of(row), chosen) for row in rows.all()]


def _left(session: Session, job: Job, chosen: Filter | Sequence[bytes | None] | None) -> UnderWay:
    connection = session.connection()
    next_ones = (
        select(triage_item.c.event_id)
        .where(triage_item.c.job_id == job.job_id)
        .order_by(triage_item.c.ordinal)
        .limit(LOOKED_AT)
        .subquery()
    )
    meant = (
        select(
            event_failure.c.failure_signature,
            func.count().label("many"),
            func.min(event_failure.c.event_id).label("sample_id"),
        )
        .join(next_ones, next_ones.c.event_id == event_failure.c.event_id)
        .where(event_failure.c.quarantined_at <= job.created_at)
        .group_by(event_failure.c.failure_signature)
    )
    if isinstance(chosen, Filter):
        meant = meant.where(*chosen.conditions())
    elif chosen is not None:
        meant = meant.where(event_failure.c.event_id.in_([one for one in chosen if one]))
    counted = connection.execute(meant).all()
    samples = {
        row.event_id: row
        for row in connection.execute(
            select(event_failure.c.event_id, event_failure.c.code, event_failure.c.message).where(
                event_failure.c.event_id.in_([row.sample_id for row in counted])
            )
        )
    }
    left = [
        Left(
            failure_signature=row.failure_signature,
            code=samples[row.sample_id].code,
            message=samples[row.sample_id].message,
            many=row.many,
        )
        for row in counted
        if row.sample_id in samples
    ]
    left.sort(key=lambda one: (-one.many, one.failure_signature))
    return UnderWay(job, tuple(left), job.total - job.done - job.skipped > LOOKED_AT)
