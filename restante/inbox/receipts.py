"""Receipts: what became of what a producer published."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
from sqlalchemy import select
from sqlalchemy.orm import Session

from restante.errors import InsufficientScope, NotFound
from restante.identity.principal import Principal
from restante.identity.scopes import TenantScope, Verb
from restante.inbox import failures, locate
from restante.inbox.browse import status_gate
from restante.inbox.cancel import check_visible
from restante.inbox.envelope import instant
from restante.inbox.lifecycle import STATUS_OF, Gate
from restante.inbox.receipt_list import of_correlation, of_recipient, page_of
from restante.storage import page_token
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, encode_id
from restante.storage.tables.inboxes import presence

Receipt = dict[str, Any]

# Receipts are among what `read` covers; who may publish may follow what he published.
VERBS = (Verb.READ, Verb.PUBLISH)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiptQuery:
    """One of the two names the list; `page_token` goes on with it."""

    correlation_id: str | None = None
    recipient_id: bytes | None = None
    limit: int = 10
    page_token: str | None = None


def receipt(session: Session, producer: Principal, event_id: bytes) -> Receipt:
    """The receipt of one own event (tenant:events:read: any of the tenant). Raises NotFound."""
    _require(producer)
    found = locate.by_event_id(session, event_id)
    check_visible(session, producer, found, TenantScope.EVENTS_READ, verbs=VERBS)
    return _receipt(session, found, database_now(session))


def list_receipts(
    session: Session, producer: Principal, query: ReceiptQuery
) -> tuple[list[Receipt], str | None]:
    """Own events of a correlation or a recipient, oldest first → (receipts, next_page_token)."""
    _require(producer)
    name = query.correlation_id or (query.recipient_id or b"").hex()
    of = ("receipts", producer.public_id, name)
    entries = (
        of_correlation(session, producer.tenant_id, query.correlation_id)
        if query.correlation_id is not None
        else of_recipient(session, producer.tenant_id, query.recipient_id)
    )
    after = page_token.take(session, of, query.page_token)
    ids, place = page_of(session, producer, entries, verbs=VERBS, after=after, limit=query.limit)
    now = database_now(session)
    receipts = []
    for event_id in ids:
        try:
            found = locate.by_event_id(session, event_id)
            check_visible(session, producer, found, TenantScope.EVENTS_READ, verbs=VERBS)
        except NotFound:
            continue
        receipts.append(_receipt(session, found, now))
    return receipts, None if place is None else page_token.give(session, of, place)


def _require(producer: Principal) -> None:
    if not producer.has(TenantScope.EVENTS_READ) and not any(map(producer.covered, VERBS)):
        raise InsufficientScope(f"agent:<project>:{Verb.READ}")


def _receipt(session: Session, found: locate.Located, now: datetime) -> Receipt:
    row = found.row
    envelope = orjson.loads(row.envelope)
    gate = status_gate(row, found.gate, now)
    result = getattr(row, "result", None)
    read_at = _read_at(session, found)
    claimed_at = getattr(row, "first_claimed_at", None)
    final_at = row.final_at
    error = failures.last_error(session, found.event_id).error
    return {
        "event_id": encode_id(Prefix.EVENT, found.event_id),
        "recipient_id": encode_id(Prefix.AGENT, found.recipient_id),
        "sequence_number": found.sequence_number,
        "project": envelope["project"],
        "type": envelope["type"],
        "correlation_id": envelope["correlation_id"],
        "producer": envelope["producer"],
        "status": STATUS_OF[gate],
        "stage": _stage(gate, read_at, claimed_at),
        "attempts": getattr(row, "attempts", 0),
        "accepted_at": envelope["created_at"],
        "available_at": instant(row.available_at),
        "read_at": instant(read_at),
        "claimed_at": instant(claimed_at),
        "completed_at": instant(final_at) if gate is Gate.COMPLETED else None,
        "cancelled_at": instant(final_at) if gate is Gate.CANCELLED else None,
        "expired_at": instant(final_at) if gate is Gate.EXPIRED else None,
        "quarantined_at": error["at"] if error and gate is Gate.QUARANTINED else None,
        "result": None if result is None else orjson.Fragment(result),
        "last_error": error,
    }


def _stage(gate: Gate, read_at: datetime | None, claimed_at: datetime | None) -> str:
    """How far it has come: accepted, available, read, claimed, or how it ended."""
    if gate is Gate.SCHEDULED:
        return "accepted"
    if gate is Gate.CLAIMED or gate >= Gate.QUARANTINED:
        return STATUS_OF[gate]
    if claimed_at is not None:
        return "claimed"
    return "available" if read_at is None else "read"


def _read_at(session: Session, found: locate.Located) -> datetime | None:
    """From the inbox's read mark, which moves at most once in 10 s."""
    if found.sequence_number is None:
        return None
    return (
        session.connection()
        .execute(
            select(presence.c.read_at).where(
                presence.c.recipient_id == found.recipient_id,
                presence.c.read_cursor >= found.sequence_number,
            )
        )
        .scalar()
    )
