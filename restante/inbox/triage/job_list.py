"""Triage jobs of a tenant as they are listed: what was done to many events, by whom and why, newest first."""

from __future__ import annotations

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from restante.audit.actions import Action, Outcome
from restante.identity.administrators import Administrator
from restante.identity.roles import Right
from restante.inbox.triage.jobs import Job, State, job_of
from restante.storage import page_token
from restante.storage.tables.audit import audit_entry
from restante.storage.tables.triage import triage_job


def list_jobs(
    session: Session, administrator: Administrator, *, limit: int, token: str | None = None
) -> tuple[list[Job], str | None]:
    """→ (jobs, next page token). Raises PageTokenInvalid and what `Administrator.require` does."""
    administrator.require(Right.QUARANTINE_READ)
    of = ("jobs", administrator.tenant_id.hex())
    before = page_token.take(session, of, token)
    query = select(triage_job).where(triage_job.c.tenant_id == administrator.tenant_id)
    if before is not None:
        query = query.where(triage_job.c.job_id < bytes.fromhex(before))
    rows = (
        session.connection()
        .execute(query.order_by(triage_job.c.job_id.desc()).limit(limit + 1))
        .all()
    )
    shown, more = page_token.cut(session, of, rows, limit, lambda row: row.job_id.hex())
    return list(map(job_of, shown)), more


def stopped_by(session: Session, administrator: Administrator, job: Job) -> str | None:
    """Who stopped it, by the audit: `opr_…`, `svc_…`, or what he is; None: nobody did.

    Raises what `Administrator.require` does.
    """
    administrator.require(Right.QUARANTINE_READ)
    if job.state is not State.CANCELLED or job.stopped_because is not None:
        return None
    asked = select(func.coalesce(audit_entry.c.actor_id, audit_entry.c.actor_kind)).where(
        audit_entry.c.chain_id == administrator.tenant_id,
        audit_entry.c.action == Action.JOB_CANCEL.value,
        audit_entry.c.target == job.public_id,
        audit_entry.c.outcome == Outcome.DONE.value,
    )
    return session.connection().execute(asked.limit(1)).scalar()
