"""What came of a challenge, written down: by the one that counts, and by no other."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import update
from sqlalchemy.orm import Session

from restante.audit.actions import Action, Outcome
from restante.audit.chain import record
from restante.audit.entries import Entry, Origin
from restante.errors import CallbackConflict
from restante.storage.clock import database_now
from restante.storage.tables.callbacks import callback
from restante.webhooks.callbacks import Callback, Seen, find_locked
from restante.webhooks.challenge import Challenge, Reason
from restante.webhooks.states import Status, Step
from restante.webhooks.suspension import suspended

AGAIN_AFTER = timedelta(hours=72)
"""An active callback is challenged so long after the last right answer."""
TRIED_AFTER = timedelta(minutes=15)
"""And so long after a wrong one."""
MOST_FAILURES = 3
FAILING = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Judgement:
    """`reason` None: the answer was right, and `seen` is what it came from. `note`: for the platform."""

    reason: Reason | None
    seen: Seen | None = None
    note: str | None = None


def settle_challenge(
    session: Session, tenant_id: bytes, challenge: Challenge, found: Judgement, *, by: Origin
) -> Callback:
    """The callback, with what came of this challenge.

    Raises NotFound where it was removed meanwhile, CallbackConflict where another challenge has begun.
    """
    before = find_locked(session, tenant_id, challenge.callback_id)
    if before.challenge_id != challenge.id:
        raise CallbackConflict(
            "The callback was changed, or challenged again, meanwhile: read it again."
        )
    now = database_now(session)
    reason = found.reason if now <= challenge.ends_at else Reason.UNREACHABLE
    row = _passed(before, found, now) if reason is None else _failed(session, before, reason, now)
    session.connection().execute(
        update(callback)
        .where(callback.c.callback_id == challenge.callback_id)
        .values(challenge_ends_at=None, **row)
    )
    outcome = Outcome.DONE if reason is None else Outcome.FAILED
    action, target = Action.CALLBACK_CHALLENGE, before.public_id
    record(session, Entry(tenant_id, by, action, target, outcome=outcome, reason=reason))
    if found.note is not None:
        # what a tenant must not be told, lest it has a scanner: the platform's chain has it
        record(session, Entry(None, by, action, target, outcome=outcome, reason=found.note))
    if "status_reason" in row:
        suspended = Entry(
            tenant_id, by, Action.CALLBACK_SUSPEND, target, reason=row["status_reason"]
        )
        record(session, suspended)
    return find_locked(session, tenant_id, challenge.callback_id)


def _passed(before: Callback, found: Judgement, now: datetime) -> dict[str, Any]:
    status, seen = before.stepped(Step.CHALLENGE_PASSED), found.seen
    row: dict[str, Any] = {
        "status": status.value,
        "challenge_reason": None,
        "challenged_at": now,
        "challenge_failures": 0,
        "challenge_failing_since": None,
    }
    if status is Status.ACTIVE:
        row["challenge_due_at"] = now + AGAIN_AFTER
    if seen is not None:
        row |= {
            "seen_address": seen.address.value,
            "seen_names": json.dumps(seen.certificate_names),
            "seen_expires_at": seen.certificate_expires_at,
            "seen_latency_ms": seen.latency_ms,
        }
    return row


def _failed(session: Session, before: Callback, reason: Reason, now: datetime) -> dict[str, Any]:
    status = before.stepped(Step.CHALLENGE_FAILED)
    since = before.challenge_failing_since
    fresh = since is None or since <= now - FAILING
    failures = 1 if fresh else before.challenge_failures + 1
    row: dict[str, Any] = {
        "status": status.value,
        "challenge_reason": reason.value,
        "challenge_failures": failures,
        "challenge_failing_since": now if fresh else since,
    }
    if status is Status.ACTIVE and failures >= MOST_FAILURES:
        why = f"{failures} challenges within an hour failed, the last by {reason}"
        row |= suspended(session, before, why, now)
    elif status is Status.ACTIVE:
        row["challenge_due_at"] = now + TRIED_AFTER * random.uniform(0.8, 1.2)  # noqa: S311 - jitter
    return row
