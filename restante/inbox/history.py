"""The timeline of an event: what departed from the plain path, the last 50 entries."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import delete, insert, select
from sqlalchemy.orm import Session

from restante.inbox.envelope import instant
from restante.storage.ids import new_id
from restante.storage.tables.failures import event_history

KEPT = 50


class Kind(StrEnum):
    """What happened."""

    CLAIMED = "claimed"  # only where the claim belongs to a trace, which is the reason told
    LEASE_EXPIRED = "lease_expired"
    RELEASED = "released"
    REJECTED = "rejected"
    QUARANTINED = "quarantined"
    REDRIVEN = "redriven"
    DISCARDED = "discarded"
    CANCEL_REQUESTED = "cancel_requested"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    DELIVERY_FAILED = "delivery_failed"


def note(
    session: Session,
    event_id: bytes,
    kind: Kind,
    now: datetime,
    *,
    generation: int,
    consumer: str | None = None,
    reason: str | None = None,
    actor: str | None = None,
) -> None:
    """Add an entry to an event's timeline."""
    connection = session.connection()
    connection.execute(
        insert(event_history),
        {
            "event_id": event_id,
            "entry_id": new_id(),
            "at": now,
            "kind": kind,
            "generation": generation,
            "consumer": consumer or None,
            "reason": reason,
            "actor": actor,
        },
    )
    too_old = connection.execute(
        select(event_history.c.entry_id)
        .where(event_history.c.event_id == event_id)
        .order_by(event_history.c.entry_id.desc())
        .limit(1)
        .offset(KEPT)
    ).scalar()
    if too_old is not None:
        connection.execute(
            delete(event_history).where(
                event_history.c.event_id == event_id, event_history.c.entry_id <= too_old
            )
        )


def note_claims(
    session: Session, rows: Iterable[Any], now: datetime, *, consumer: str | None, traceparent: str
) -> None:
    """Add to each timeline of the rows being claimed to which trace their claim belongs."""
    session.connection().execute(
        insert(event_history),
        [
            {
                "event_id": row.event_id,
                "entry_id": new_id(),
                "at": now,
                "kind": Kind.CLAIMED,
                "generation": row.claim_generation + 1,
                "consumer": consumer,
                "reason": traceparent,
                "actor": None,
            }
            for row in rows
        ],
    )


def timeline(session: Session, event_id: bytes) -> list[dict[str, Any]]:
    """The last entries, oldest first, as JSON has them."""
    rows = session.connection().execute(
        select(event_history)
        .where(event_history.c.event_id == event_id)
        .order_by(event_history.c.entry_id.desc())
        .limit(KEPT)
    )
    return [
        {
            "at": instant(row.at),
            "kind": row.kind,
            "generation": row.generation,
            "consumer": row.consumer,
            "reason": row.reason,
            **({"actor": row.actor} if row.actor else {}),
        }
        for row in reversed(rows.all())
    ]
