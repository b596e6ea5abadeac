"""Carrying a triage job out, a few events a transaction, so that locks are short and a kill loses none.

A worker takes a job for a while; who comes meanwhile takes another. An event that has left
quarantine since, came back since, or would need force now, is passed over and counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from restante.audit.actions import ActorKind
from restante.audit.entries import Actor
from restante.errors import NotFound, RestanteError
from restante.inbox import quarantine
from restante.inbox.place import lock_inboxes
from restante.inbox.rules import rules
from restante.inbox.triage import canary
from restante.inbox.triage.amend import IsAssigned, amend
from restante.inbox.triage.jobs import Action, State
from restante.inbox.triage.patching import CONTENT_DROPPED, NotPatched, patched
from restante.storage.clock import database_now
from restante.storage.tables.events import agent_inbox
from restante.storage.tables.failures import event_failure
from restante.storage.tables.triage import triage_item, triage_job

TURN = timedelta(seconds=30)
"""How long a worker has a job to itself; after a kill another goes on then."""

TOGETHER = 20
"""Events of a transaction, where the job has no pause between them."""

PASSED_OVER = (
    NotFound,
    quarantine.NotQuarantined,
    quarantine.Superseded,
    quarantine.RecipientGone,
    quarantine.LaterSettled,
    quarantine.BeyondDedupHorizon,
    IsAssigned,
)


def take(session: Session) -> bytes | None:
    """A job that is due, for one turn; None: there is none that nobody has."""
    connection, now = session.connection(), database_now(session)
    job_id: bytes | None = connection.execute(
        select(triage_job.c.job_id)
        .where(triage_job.c.due_at <= now)
        .order_by(triage_job.c.due_at)
        .limit(1)
        .with_for_update(skip_locked=True)
    ).scalar()
    if job_id is not None:
        connection.execute(
            update(triage_job).where(triage_job.c.job_id == job_id).values(due_at=now + TURN)
        )
    return job_id


def carry_out_next(session: Session, job_id: bytes, *, most: int = TOGETHER) -> int:
    """Do the job's next events, if their time has come → how many; 0: it is not to be gone on with now."""
    connection = session.connection()
    job = connection.execute(select(triage_job).where(triage_job.c.job_id == job_id)).first()
    if job is None or job.state != State.RUNNING:
        return 0
    if job.canary_until is not None:
        said = canary.look(session, job)
        _save(session, job_id, **said)
        return carry_out_next(session, job_id, most=most) if "rest_at" in said else 0
    goes_first = job.canary and not job.done
    items = connection.execute(
        select(triage_item.c.ordinal, triage_item.c.event_id)
        .where(triage_item.c.job_id == job_id)
        .order_by(triage_item.c.ordinal)
        .limit(1 if goes_first or job.stagger_ms else most)
    ).all()
    if not items:
        ended = {"state": State.COMPLETED, "finished_at": database_now(session), "due_at": None}
        _save(session, job_id, **ended, **CONTENT_DROPPED)
        return 0
    first, last = items[0].ordinal, items[-1].ordinal
    at = (job.rest_at or job.created_at) + timedelta(milliseconds=job.stagger_ms * first)
    if at > database_now(session):
        _save(session, job_id, due_at=at)
        return 0
    went, unpatched = _do_each(session, job, _meant(session, job, [i.event_id for i in items]))
    counts = {
        "done": triage_job.c.done + len(went),
        "skipped": triage_job.c.skipped + len(items) - len(went),
        "unpatched": triage_job.c.unpatched + unpatched,
    }
    sent = canary.sent(session, went[0]) if goes_first and went else {}
    gone = connection.execute(
        delete(triage_item).where(
            triage_item.c.job_id == job_id, triage_item.c.ordinal.between(first, last)
        )
    )
    if gone.rowcount != len(items) or not _save(session, job_id, **counts, **sent):
        raise Overtaken
    return len(items)


def hand_on(session: Session, job_id: bytes) -> None:
    """Give a job's turn up while there is more of it: any worker may go on at once."""
    _save(session, job_id, due_at=database_now(session))


class Overtaken(RestanteError):
    """Another worker did these events, or the job was cancelled, meanwhile: nothing was changed."""


def _meant(session: Session, job: Any, event_ids: Sequence[bytes]) -> list[bytes]:
    """Those that have lain there since before the job was made: a later failure is not what it is about."""
    connection = session.connection()
    whose = select(agent_inbox.c.recipient_id).where(agent_inbox.c.event_id.in_(event_ids))
    # lock order: the inbox rows of all, ascending, before the first event; then none is put back meanwhile
    if recipients := set(connection.execute(whose).scalars()):
        lock_inboxes(session, recipients)
    still = select(event_failure.c.event_id).where(
        event_failure.c.event_id.in_(event_ids), event_failure.c.quarantined_at <= job.created_at
    )
    lie = set(connection.execute(still).scalars())
    return [event_id for event_id in event_ids if event_id in lie]


def _do_each(session: Session, job: Any, event_ids: Sequence[bytes]) -> tuple[list[bytes], int]:
    """→ what went, and how many a patch did not fit. What is passed over has changed nothing."""
    went: list[bytes] = []
    unpatched = 0
    for event_id in event_ids:
        try:
            went.append(_do(session, job, event_id))
        except NotPatched:
            unpatched += 1
        except PASSED_OVER:
            continue
    return went, unpatched


def _do(session: Session, job: Any, event_id: bytes) -> bytes:
    """→ the id of the event that goes on: this one, or the corrected one."""
    by = Actor(ActorKind(job.actor_kind), job.actor_id)
    actor = by.id or by.kind
    match Action(job.action):
        case Action.REDRIVE:
            quarantine.redrive(
                session,
                job.tenant_id,
                event_id,
                actor=actor,
                reason=job.reason,
                force=job.forced,
            )
        case Action.DISCARD:
            quarantine.discard(session, job.tenant_id, event_id, actor=actor, reason=job.reason)
        case Action.AMEND | Action.PATCH:
            most_bytes = rules(session).max_payload_bytes
            return amend(
                session,
                job.tenant_id,
                event_id,
                job.amended_payload
                or partial(patched, patch=job.merge_patch, most_bytes=most_bytes),
                by=by,
                reason=job.reason,
                force=job.forced,
                corrected=job.done,
            )
    return event_id


def _save(session: Session, job_id: bytes, **values: Any) -> bool:
    """Whether it was still running."""
    changed = session.connection().execute(
        update(triage_job)
        .where(triage_job.c.job_id == job_id, triage_job.c.state == State.RUNNING)
        .values(values)
    )
    return bool(changed.rowcount)
