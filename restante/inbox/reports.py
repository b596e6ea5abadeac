"""Delivery reports: an event in the inbox of an agent whose own event ended otherwise than by ack.

In the same transaction as that end (arriving.py).
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import orjson
from sqlalchemy import select
from sqlalchemy.orm import Session

from restante.inbox.arriving import arrive_later
from restante.inbox.envelope import Options, instant
from restante.inbox.lifecycle import STATUS_OF, Gate
from restante.inbox.publication import Arrival
from restante.inbox.rules import rules
from restante.storage.ids import Prefix, decode_id, encode_id, new_id
from restante.storage.tables.events import event_content

TYPE = "delivery_report"
BY_SERVER = {"kind": "server", "id": "restante", "name": "restante", "signed": False}
"""The producer of what the server itself says."""


def report(session: Session, row: Any, gate: Gate, now: datetime, *, reason: str | None) -> None:
    """Tell the producer of `row`'s event of its end, if he asked to be told."""
    content = (
        session.connection()
        .execute(
            select(event_content.c.envelope, event_content.c.options).where(
                event_content.c.recipient_id == row.recipient_id,
                event_content.c.sequence_number == row.sequence_number,
            )
        )
        .one()
    )
    report_content(session, row, content, gate, now, reason=reason)


def report_content(
    session: Session, row: Any, content: Any, gate: Gate, now: datetime, *, reason: str | None
) -> None:
    """The same, for one whose envelope and options are at hand."""
    status = STATUS_OF[gate]
    if status not in Options.load(content.options).report:
        return
    envelope = orjson.loads(content.envelope)
    producer_id = decode_id(Prefix.AGENT, envelope["producer"]["id"])
    if producer_id is None:
        return
    payload = orjson.dumps(
        {
            "type": TYPE,
            "event_id": encode_id(Prefix.EVENT, row.event_id),
            "recipient_id": encode_id(Prefix.AGENT, row.recipient_id),
            "status": status,
            "reason": reason,
            "at": instant(now),
        }
    )
    arrival = Arrival(
        event_id=new_id(),
        recipient_id=producer_id,
        project_id=row.project_id,
        rank=0,
        max_attempts=rules(session).max_attempts,
        key_hash=None,
        available_at=now,
        expires_at=None,
        envelope=orjson.dumps(server_envelope(envelope, row.event_id, now, type=TYPE)),
        options=None,
        payload=payload,
    )
    arrive_later(session, arrival)


def server_envelope(
    of: dict[str, Any], event_id: bytes, now: datetime, *, type: str
) -> dict[str, Any]:
    """The envelope of what the server itself says of an event whose envelope is `of`."""
    return {
        **of,
        "type": type,
        "priority": 0,
        "causation_id": encode_id(Prefix.EVENT, event_id),
        "reply_to": None,
        "ordering_key": None,
        "producer": BY_SERVER,
        "created_at": instant(now),
        "corrects": None,
    }
