"""Where an event is: in its inbox, still scheduled, or in the archive. One lookup each, by id."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from restante.errors import NotFound
from restante.inbox.lifecycle import Gate
from restante.storage.tables.events import (
    agent_inbox,
    archived_event,
    event_content,
    scheduled_event,
)
from restante.storage.tables.inboxes import inbox


@dataclass(frozen=True, slots=True)
class Located:
    """Where an event was found. Nothing is locked: look again under a lock before changing it."""

    event_id: bytes
    recipient_id: bytes
    project_id: bytes
    sequence_number: int | None
    gate: Gate
    table: str
    row: Any


_LIVE = select(
    agent_inbox,
    event_content.c.envelope,
    event_content.c.options,
    event_content.c.payload,
    event_content.c.result,
).join(
    event_content,
    (event_content.c.recipient_id == agent_inbox.c.recipient_id)
    & (event_content.c.sequence_number == agent_inbox.c.sequence_number),
)


def by_event_id(session: Session, event_id: bytes) -> Located:
    """The event with all its columns; NotFound. The caller checks tenant and project."""
    connection = session.connection()
    row = connection.execute(_LIVE.where(agent_inbox.c.event_id == event_id)).first()
    if row is not None:
        return _located("agent_inbox", row, row.sequence_number)
    row = connection.execute(
        select(scheduled_event).where(scheduled_event.c.event_id == event_id)
    ).first()
    if row is not None:
        return _located("scheduled_event", row, None)
    row = connection.execute(
        select(archived_event).where(archived_event.c.event_id == event_id)
    ).first()
    if row is not None:
        return _located("archived_event", row, row.sequence_number)
    # it may have become due between the first look and the second
    row = connection.execute(_LIVE.where(agent_inbox.c.event_id == event_id)).first()
    if row is None:
        raise NotFound
    return _located("agent_inbox", row, row.sequence_number)


def of_tenant(session: Session, tenant_id: bytes, event_id: bytes | None) -> Located:
    """The same of a tenant's event; NotFound for another's as for none."""
    if event_id is None:
        raise NotFound
    found = by_event_id(session, event_id)
    owner = session.connection().execute(
        select(inbox.c.tenant_id).where(inbox.c.recipient_id == found.recipient_id)
    )
    if owner.scalar() != tenant_id:
        raise NotFound
    return found


def _located(table: str, row: Any, sequence_number: int | None) -> Located:
    return Located(
        row.event_id,
        row.recipient_id,
        row.project_id,
        sequence_number,
        Gate(row.gate),
        table,
        row,
    )
