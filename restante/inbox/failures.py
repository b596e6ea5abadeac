"""How an attempt failed, and the signature by which failures of one kind are found together."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

import orjson
from sqlalchemy import insert, select, update
from sqlalchemy.orm import Session

from restante.inbox.envelope import instant
from restante.storage.ids import Prefix, encode_id
from restante.storage.tables.events import event_content
from restante.storage.tables.failures import event_failure
from restante.storage.tables.inboxes import inbox

MESSAGE_KEPT = 2_000
CODE_KEPT = 128


class Outcome(StrEnum):
    """What the failed attempt did to the world, as its holder knows."""

    NONE = "none"
    UNKNOWN = "unknown"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an attempt failed."""

    code: str
    message: str
    outcome: Outcome = Outcome.UNKNOWN


LEASE_OVER = Failure("lease_expired", "The lease ended before the event was settled.")

_QUOTED = re.compile(r"(?<!\w)'[^']*'(?!\w)|\"[^\"]*\"")  # an apostrophe begins no quotation
_VARIABLE = re.compile(r"\b(?:0x)?[0-9a-fA-F]{8,}\b|\b[0-9a-fA-F-]{32,}\b|\d+(?:\.\d+)*")


def alike(message: str) -> str:
    """A message as all of its kind have it: `#` for numbers and ids, `'…'` for quoted values."""
    return _VARIABLE.sub("#", _QUOTED.sub("'…'", message))


def normalised(message: str) -> str:
    """What failures of one kind have in common."""
    return " ".join(alike(message).split())[:300].lower()


def signature(event_type: str, failure: Failure) -> str:
    """32 hex digits, the same for failures of one kind: type, code, normalised message."""
    kind = "\0".join((event_type, failure.code, normalised(failure.message)))
    return hashlib.sha256(kind.encode()).hexdigest()[:32]


def record(
    session: Session,
    row: Any,
    failure: Failure,
    now: datetime,
    *,
    quarantine_reason: str | None = None,
) -> None:
    """Keep an event's last failure; with a reason, as one that put it into quarantine."""
    connection = session.connection()
    context = connection.execute(
        select(event_content.c.envelope, inbox.c.tenant_id)
        .join(inbox, inbox.c.recipient_id == event_content.c.recipient_id)
        .where(
            event_content.c.recipient_id == row.recipient_id,
            event_content.c.sequence_number == row.sequence_number,
        )
    ).one()
    values = {
        "code": failure.code[:CODE_KEPT],
        "message": failure.message[:MESSAGE_KEPT],
        "outcome": failure.outcome,
        "failed_at": now,
        "attempt": row.attempts,
        "failure_signature": signature(orjson.loads(context.envelope)["type"], failure),
        "quarantined_at": now if quarantine_reason else None,
        "quarantine_reason": quarantine_reason,
    }
    changed = connection.execute(
        update(event_failure).where(event_failure.c.event_id == row.event_id).values(values)
    )
    if changed.rowcount == 0:
        connection.execute(
            insert(event_failure),
            {
                "event_id": row.event_id,
                "tenant_id": context.tenant_id,
                "recipient_id": row.recipient_id,
                "project_id": row.project_id,
                **values,
            },
        )


def leave_quarantine(session: Session, event_id: bytes) -> None:
    """The event is out of quarantine; what happened stays known."""
    session.connection().execute(
        update(event_failure)
        .where(event_failure.c.event_id == event_id)
        .values(quarantined_at=None)
    )


def supersede(session: Session, event_id: bytes, by: bytes) -> None:
    """The work of a quarantined event goes on in another one."""
    session.connection().execute(
        update(event_failure).where(event_failure.c.event_id == event_id).values(superseded_by=by)
    )


def superseded_by(session: Session, event_id: bytes) -> bytes | None:
    """The event in which the work of this one goes on."""
    asked = select(event_failure.c.superseded_by).where(event_failure.c.event_id == event_id)
    found: bytes | None = session.connection().execute(asked).scalar()
    return found


@dataclass(frozen=True, slots=True)
class Failed:
    """How an event failed last. `error`: as JSON has it; `superseded_by`: where its work went on."""

    error: dict[str, Any] | None = None
    signature: str | None = None
    superseded_by: str | None = None


def last_error(session: Session, event_id: bytes) -> Failed:
    """The last failure, what it is found by, and what took its place; all None: it never failed."""
    row = (
        session.connection()
        .execute(select(event_failure).where(event_failure.c.event_id == event_id))
        .first()
    )
    if row is None:
        return Failed()
    error = {
        "code": row.code,
        "message": row.message,
        "outcome": row.outcome,
        "at": instant(row.failed_at),
        "attempt": row.attempt,
        "quarantine_reason": row.quarantine_reason,
    }
    by = None if row.superseded_by is None else encode_id(Prefix.EVENT, row.superseded_by)
    return Failed(error, row.failure_signature, by)
