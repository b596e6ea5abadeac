"""One event as its tenant's operators see it; its payload apart, since that it was seen is audited."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
from sqlalchemy.orm import Session

from restante.audit.actions import Action
from restante.audit.chain import record
from restante.audit.entries import Entry
from restante.errors import NotFound
from restante.identity.administrators import Administrator
from restante.identity.roles import Right
from restante.identity.tenant_settings import redacted_for
from restante.inbox import failures, history, locate
from restante.inbox.browse import status_gate
from restante.inbox.lifecycle import STATUS_OF, Status
from restante.inbox.receipt_list import of_correlation
from restante.inbox.redaction import redact
from restante.inbox.rules import rules as settings
from restante.inbox.triage.patching import patched
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, encode_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """An event in a list of others."""

    event_id: str
    recipient_id: str
    sequence_number: int | None
    status: Status
    type: str
    created_at: datetime
    causation_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspected(Brief):
    """All that is known of it. `timeline`, `last_error`: as JSON has them; instants are UTC.

    `payload_bytes` is None where the payload is dropped, since the event is completed. `assigned`: it
    belongs to an assignment.
    """

    envelope: Mapping[str, Any]
    attempts: int
    max_attempts: int
    generation: int
    consumer: str | None
    available_at: datetime
    not_before: datetime | None
    first_claimed_at: datetime | None
    claim_expires_at: datetime | None
    expires_at: datetime | None
    final_at: datetime | None
    redriven: bool
    cancel_requested: bool
    archived: bool
    payload_bytes: int | None
    result_bytes: int | None
    last_error: Mapping[str, Any] | None
    failure_signature: str | None
    superseded_by: str | None
    assigned: bool
    timeline: list[dict[str, Any]]


def inspect(session: Session, administrator: Administrator, event_id: bytes | None) -> Inspected:
    """The tenant's event; NotFound, also for another tenant's."""
    administrator.require(Right.EVENTS_READ)
    found = locate.of_tenant(session, administrator.tenant_id, event_id)
    row = found.row
    failed = failures.last_error(session, found.event_id)
    brief = _brief(found, database_now(session))
    held = brief.status is Status.CLAIMED
    return Inspected(
        event_id=brief.event_id,
        recipient_id=brief.recipient_id,
        sequence_number=brief.sequence_number,
        status=brief.status,
        type=brief.type,
        created_at=brief.created_at,
        causation_id=brief.causation_id,
        envelope=orjson.loads(row.envelope),
        attempts=getattr(row, "attempts", 0),
        max_attempts=row.max_attempts,
        generation=getattr(row, "claim_generation", 0),
        consumer=getattr(row, "consumer", None) if held else None,
        available_at=row.available_at,
        not_before=getattr(row, "not_before", None),
        first_claimed_at=getattr(row, "first_claimed_at", None),
        claim_expires_at=getattr(row, "claim_expires_at", None) if held else None,
        expires_at=row.expires_at,
        final_at=row.final_at,
        redriven=bool(getattr(row, "redriven", False)),
        cancel_requested=bool(getattr(row, "cancel_requested", False)),
        archived=found.table == "archived_event",
        payload_bytes=None if row.payload is None else len(row.payload),
        result_bytes=None if (result := getattr(row, "result", None)) is None else len(result),
        last_error=failed.error,
        failure_signature=failed.signature,
        superseded_by=failed.superseded_by,
        assigned=bool(getattr(row, "claim_only", False)),
        timeline=history.timeline(session, found.event_id),
    )


@dataclass(frozen=True, slots=True)
class Content:
    """What an event says and what came of it, as JSON was received but for what is redacted.

    `payload` None: it is dropped, since the event is completed. `rules`: what the reader is not shown.
    """

    payload: bytes | None
    result: bytes | None
    rules: tuple[str, ...] = ()


def read_content(session: Session, administrator: Administrator, event_id: bytes | None) -> Content:
    """What the administrator may see of it, and an entry of the audit; no entry where there is nothing.

    Of a result nothing is told where anything is redacted: the rules are about payloads. Raises
    NotFound and what `Administrator.require` does.
    """
    administrator.require(Right.EVENTS_READ)
    found = locate.of_tenant(session, administrator.tenant_id, event_id)
    rules = redacted_for(session, administrator)
    payload: bytes | None = found.row.payload
    result: bytes | None = getattr(found.row, "result", None)
    _note_reading(session, administrator, found, payload or result)
    return Content(
        None if payload is None else redact(payload, rules), None if rules else result, rules
    )


def read_payload(
    session: Session, administrator: Administrator, event_id: bytes | None
) -> bytes | None:
    """The payload as it was received, and an entry of the audit; None: it is dropped, and no entry.

    Raises NotFound, RightMissing where something of it is kept from him, and what
    `Administrator.require` does.
    """
    administrator.require(Right.EVENTS_READ)
    found = locate.of_tenant(session, administrator.tenant_id, event_id)
    if redacted_for(session, administrator):
        administrator.require(Right.PAYLOADS_WHOLE)
    payload: bytes | None = found.row.payload
    _note_reading(session, administrator, found, payload)
    return payload


@dataclass(frozen=True, slots=True)
class Patched:
    """A payload as it is and as a patch would make it, but for what is redacted (`rules`)."""

    before: bytes
    after: bytes
    rules: tuple[str, ...]


def read_patched(
    session: Session, administrator: Administrator, event_id: bytes | None, patch: bytes
) -> Patched:
    """What a patch would make of it, as the administrator may see it, and an entry of the audit.

    Raises NotFound, NotPatched and what `Administrator.require` does.
    """
    administrator.require(Right.EVENTS_READ)
    found = locate.of_tenant(session, administrator.tenant_id, event_id)
    before: bytes = found.row.payload or b""
    after = patched(before, patch, most_bytes=settings(session).max_payload_bytes)
    rules = redacted_for(session, administrator)
    _note_reading(session, administrator, found, before)
    return Patched(redact(before, rules), redact(after, rules), rules)


def _note_reading(
    session: Session, administrator: Administrator, found: locate.Located, read: bytes | None
) -> None:
    if read is not None:
        target = encode_id(Prefix.EVENT, found.event_id)
        entry = Entry(administrator.tenant_id, administrator.by, Action.PAYLOAD_READ, target=target)
        record(session, entry)


def thread(
    session: Session, administrator: Administrator, correlation_id: str, *, limit: int
) -> tuple[list[Brief], bool]:
    """The tenant's events of one correlation in the order of their making → (events, are there more)."""
    administrator.require(Right.EVENTS_READ)
    now = database_now(session)
    entries = of_correlation(session, administrator.tenant_id, correlation_id)(None, limit + 1)
    events = []
    for entry in entries[:limit]:
        try:
            found = locate.of_tenant(session, administrator.tenant_id, entry.event_id)
        except NotFound:
            continue
        events.append(_brief(found, now))
    return events, len(entries) > limit


def _brief(found: locate.Located, now: datetime) -> Brief:
    envelope = orjson.loads(found.row.envelope)
    return Brief(
        event_id=encode_id(Prefix.EVENT, found.event_id),
        recipient_id=encode_id(Prefix.AGENT, found.recipient_id),
        sequence_number=found.sequence_number,
        status=STATUS_OF[status_gate(found.row, found.gate, now)],
        type=envelope["type"],
        created_at=datetime.fromisoformat(envelope["created_at"].removesuffix("Z")),
        causation_id=envelope["causation_id"],
    )
