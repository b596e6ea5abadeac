"""Where an event goes when its claim, or its waiting, ends. On rows and keys that are locked."""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from restante.inbox import failures, history, ordering, reports
from restante.inbox.by_key import update_by_place
from restante.inbox.ends import tell_end
from restante.inbox.envelope import Options
from restante.inbox.failures import Failure
from restante.inbox.history import Kind
from restante.inbox.lifecycle import ClaimEnd, Gate, backoff_ceiling
from restante.inbox.ordering import Key, KeyName
from restante.observations import What, observe
from restante.signals.rings import ring
from restante.storage.tables.events import agent_inbox, event_content
from restante.storage.tables.identity import project

Keys = Mapping[KeyName, Key]


class Landed(NamedTuple):
    """Where an event is now."""

    gate: Gate
    not_before: datetime | None = None


LOCKED = (
    agent_inbox.c.recipient_id,
    agent_inbox.c.sequence_number,
    agent_inbox.c.event_id,
    agent_inbox.c.project_id,
    agent_inbox.c.gate,
    agent_inbox.c.attempts,
    agent_inbox.c.max_attempts,
    agent_inbox.c.releases,
    agent_inbox.c.claim_generation,
    agent_inbox.c.claim_expires_at,
    agent_inbox.c.claimed_at,
    agent_inbox.c.claim_ended_by,
    agent_inbox.c.consumer,
    agent_inbox.c.key_hash,
    agent_inbox.c.fence_base,
    agent_inbox.c.available_at,
    agent_inbox.c.first_claimed_at,
    agent_inbox.c.not_before,
    agent_inbox.c.expires_at,
    agent_inbox.c.due_at,
    agent_inbox.c.final_at,
    agent_inbox.c.cancel_requested,
    agent_inbox.c.redriven,
    agent_inbox.c.claim_only,
)
"""The columns of a row that its end needs."""


def key_name(row: Any) -> KeyName:
    """The name of the ordering key of a row that has one."""
    return (row.recipient_id, row.project_id, row.key_hash)


def leave_key(session: Session, row: Any, keys: Keys) -> None:
    """The row no longer stands in its ordering key, if it has one."""
    if row.key_hash is None:
        return
    fence = None if row.fence_base is None else row.fence_base + row.claim_generation
    ordering.leave(session, keys[key_name(row)], row.sequence_number, fence=fence)


def finish(
    session: Session, row: Any, gate: Gate, now: datetime, keys: Keys, *, reason: str
) -> Landed:
    """Cancelled or expired: final, reported where its producer asked for it."""
    _set(session, row, gate=gate, final_at=now)
    leave_key(session, row, keys)
    reports.report(session, row, gate, now, reason=reason)
    tell_end(session, row, gate, reason=reason)
    return Landed(gate)


def cancel(session: Session, row: Any, now: datetime, keys: Keys) -> Landed:
    """The claim of an event whose cancel was asked for has ended otherwise than by ack."""
    return finish(session, row, Gate.CANCELLED, now, keys, reason="cancel_requested")


def quarantine(
    session: Session, row: Any, failure: Failure, now: datetime, keys: Keys, *, reason: str
) -> Landed:
    """Set the event aside, with why. Its key goes on, unless its project holds it."""
    observe(session, What.QUARANTINED, reason, recipient_id=row.recipient_id)
    _set(session, row, gate=Gate.QUARANTINED, claim_ended_by=_ended_by(failure))
    failures.record(session, row, failure, now, quarantine_reason=reason)
    history.note(
        session,
        row.event_id,
        Kind.QUARANTINED,
        now,
        generation=row.claim_generation,
        consumer=row.consumer,
        reason=reason,
    )
    if row.key_hash is not None and not _holds(session, row.project_id):
        leave_key(session, row, keys)
    reports.report(session, row, Gate.QUARANTINED, now, reason=reason)
    tell_end(session, row, Gate.QUARANTINED, reason=reason)
    return Landed(Gate.QUARANTINED)


def fail(
    session: Session,
    row: Any,
    failure: Failure,
    now: datetime,
    keys: Keys,
    *,
    delay: timedelta | None = None,
    since: datetime | None = None,
) -> Landed:
    """An attempt has failed → where the event is now. The wait counts from `since`, or now."""
    cause = "lease_expired" if failure is failures.LEASE_OVER else "released"
    observe(session, What.ATTEMPT_FAILED, cause)
    if row.cancel_requested:
        return cancel(session, row, now, keys)
    if row.attempts >= row.max_attempts:
        return quarantine(session, row, failure, now, keys, reason="attempts_exhausted")
    failures.record(session, row, failure, now)
    if row.expires_at is not None and row.expires_at <= now:
        return finish(session, row, Gate.EXPIRED, now, keys, reason="expires_at")
    if delay is None:
        options = _options(session, row)
        most = backoff_ceiling(row.attempts, options.backoff_base, options.backoff_max)
        delay = most * random.random()  # noqa: S311 - jitter, not a secret
    return wait(
        session,
        row,
        now,
        until=(since or now) + delay,
        releases=0,
        claim_ended_by=_ended_by(failure),
    )


def wait(
    session: Session, row: Any, now: datetime, *, until: datetime | None, **columns: Any
) -> Landed:
    """Pending again: at once, or delayed `until` then. A delayed head keeps its key."""
    delayed = until is not None and until > now
    gate = Gate.DELAYED if delayed else Gate.CLAIMABLE
    timers = [t for t in (until if delayed else None, row.expires_at) if t is not None]
    _set(
        session,
        row,
        gate=gate,
        not_before=until if delayed else None,
        due_at=min(timers, default=None),
        **columns,
    )
    if gate is Gate.CLAIMABLE:
        ring(session, row.recipient_id, row.project_id)
    return Landed(gate, until if delayed else None)


def _ended_by(failure: Failure) -> ClaimEnd:
    return ClaimEnd.LEASE_OVER if failure is failures.LEASE_OVER else ClaimEnd.GIVEN_BACK


def _set(session: Session, row: Any, **columns: Any) -> None:
    """Write a row that has left its claim."""
    values = {"claim_expires_at": None, "consumer": None, "due_at": None, **columns}
    session.connection().execute(
        update_by_place()
        .where(
            agent_inbox.c.recipient_id == bindparam("of_recipient"),
            agent_inbox.c.sequence_number == bindparam("of_number"),
        )
        .values({name: bindparam(f"new_{name}") for name in values}),
        {
            "of_recipient": row.recipient_id,
            "of_number": row.sequence_number,
            **{f"new_{name}": value for name, value in values.items()},
        },
    )


def _options(session: Session, row: Any) -> Options:
    stored = session.connection().execute(
        select(event_content.c.options).where(
            event_content.c.recipient_id == row.recipient_id,
            event_content.c.sequence_number == row.sequence_number,
        )
    )
    return Options.load(stored.scalar_one())


def _holds(session: Session, project_id: bytes) -> bool:
    found = session.connection().execute(
        select(project.c.on_quarantine).where(project.c.project_id == project_id)
    )
    return found.scalar() == "hold"
