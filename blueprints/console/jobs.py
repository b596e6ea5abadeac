"""Triage jobs: how far one is, its end, and who did what."""

from __future__ import annotations

from flask import Blueprint, Response, request

from blueprints.console.pages import see
from blueprints.console.sessions import with_session
from blueprints.console.shell import administrator, shell
from restante.identity.called import called
from restante.identity.roles import Right, may
from restante.identity.sessions import SignedIn
from restante.inbox.triage import jobs
from restante.inbox.triage.job_list import list_jobs, stopped_by
from restante.inbox.triage.under_way import under_way
from restante.storage.ids import Prefix, decode_id
from restante.storage.transaction import Session

blueprint = Blueprint("console_jobs", __name__)
JOBS = 25


@blueprint.get("/quarantine/jobs")
@with_session(Right.QUARANTINE_READ)
def listed(session: Session, who: SignedIn) -> Response:
    """What was done to many events, newest first."""
    admin = administrator(who)
    found, token = list_jobs(session, admin, limit=JOBS, token=request.args.get("page"))
    return shell(
        "jobs.html",
        session,
        who,
        here="quarantine",
        jobs=found,
        page_token=token,
        first="page" not in request.args,
        names=called(session, admin.tenant_id, [job.actor_id for job in found]),
    )


@blueprint.get("/quarantine/jobs/<job_id>")
@with_session(Right.QUARANTINE_READ)
def job(session: Session, who: SignedIn, job_id: str) -> Response:
    """One of them."""
    return _job(session, who, job_id, "job.html")


@blueprint.get("/quarantine/jobs/<job_id>/progress")
@with_session(Right.QUARANTINE_READ, polled=True)
def progress(session: Session, who: SignedIn, job_id: str) -> Response:
    """The part of its page that moves."""
    return _job(session, who, job_id, "job_progress.html", moved=True)


@blueprint.post("/quarantine/jobs/<job_id>/cancel")
@with_session(Right.EVENTS_REDRIVE)
def cancel(session: Session, who: SignedIn, job_id: str) -> Response:
    """No further event of it goes; what has gone stays."""
    found = jobs.cancel(session, administrator(who), decode_id(Prefix.JOB, job_id))
    return see(f"/quarantine/jobs/{found.public_id}")


def _job(
    session: Session, who: SignedIn, job_id: str, template: str, *, moved: bool = False
) -> Response:
    admin = administrator(who)
    found = jobs.read(session, admin, decode_id(Prefix.JOB, job_id))
    by = stopped_by(session, admin, found)
    going = under_way(session, admin, job_id=found.job_id)
    return shell(
        template,
        session,
        who,
        here="quarantine",
        job=found,
        going=going[0] if going else None,
        moved=moved,
        stopped_by=by,
        names=called(session, admin.tenant_id, [found.actor_id, by]),
        may_cancel=may(who.operator.role, jobs.NEEDED[found.action]),
    )
