"""Renew: more time, and what the holder should know. Behind the fence."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sqlalchemy import bindparam, update
from sqlalchemy.orm import Session

from restante.inbox.by_key import update_by_place
from restante.inbox.envelope import instant
from restante.inbox.fencing import Held
from restante.inbox.lifecycle import STATUS_OF, Gate
from restante.inbox.orders import Answer, Renew
from restante.inbox.rules import MAX_CLAIM_SECONDS, rules
from restante.storage.ids import Prefix, encode_id
from restante.storage.tables.events import agent_inbox, event_content


def renew(session: Session, held: Held, order: Renew, row: Any) -> Answer:
    """Set the lease's end anew (it may come nearer); a claim lasts a day at most in all."""
    now = held.now
    length = order.lease_seconds or rules(session).lease_seconds
    last = row.claimed_at + timedelta(seconds=MAX_CLAIM_SECONDS)
    ends = min(now + timedelta(seconds=length), last)
    connection = session.connection()
    connection.execute(
        _RENEW, {"recipient": row.recipient_id, "number": row.sequence_number, "ends": ends}
    )
    if order.progress is not None:
        connection.execute(
            _PROGRESS,
            {
                "recipient": row.recipient_id,
                "number": row.sequence_number,
                "reported": order.progress,
            },
        )
    return {
        "event_id": encode_id(Prefix.EVENT, row.event_id),
        "status": STATUS_OF[Gate.CLAIMED],
        "claim_expires_at": instant(ends),
        "lease_remaining_ms": max(0, int((ends - now).total_seconds() * 1000)),
        "cancel_requested": bool(row.cancel_requested),
        "deadline_passed": row.expires_at is not None and row.expires_at <= now,
    }


_RENEW = (
    update_by_place()
    .where(
        agent_inbox.c.recipient_id == bindparam("recipient"),
        agent_inbox.c.sequence_number == bindparam("number"),
    )
    .values(claim_expires_at=bindparam("ends"), due_at=bindparam("ends"))
)
_PROGRESS = (
    update(event_content)
    .where(
        event_content.c.recipient_id == bindparam("recipient"),
        event_content.c.sequence_number == bindparam("number"),
    )
    .values(progress=bindparam("reported"))
)
