"""What the database has after a run, as the checker reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Connection, select

from restante.inbox.lifecycle import STATUS_OF, Gate
from restante.storage.ids import Prefix, encode_id
from restante.storage.tables.events import (
    agent_inbox,
    archived_event,
    event_content,
    scheduled_event,
)
from restante.storage.tables.inboxes import inbox


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """An event, wherever it lies. `name`: its correlation_id, which its producer gave only once."""

    event_id: str
    recipient_id: str
    name: str
    status: str
    sequence: int | None = None
    generation: int = 0
    attempts: int = 0
    max_attempts: int = 5
    key: str | None = None
    ordering_sequence: int | None = None


@dataclass(frozen=True, slots=True)
class Books:
    """All events, and by recipient the head of its inbox."""

    rows: list[Row]
    heads: Mapping[str, int]


def read_books(connection: Connection) -> Books:
    """The books of a database that nobody writes to any more."""
    live = select(agent_inbox, event_content.c.envelope).join(
        event_content,
        (agent_inbox.c.recipient_id == event_content.c.recipient_id)
        & (agent_inbox.c.sequence_number == event_content.c.sequence_number),
        isouter=True,
    )
    found = [
        row
        for query in (live, select(scheduled_event), select(archived_event))
        for row in connection.execute(query)
    ]
    heads = {
        encode_id(Prefix.AGENT, row.recipient_id): row.head
        for row in connection.execute(select(inbox.c.recipient_id, inbox.c.head))
    }
    return Books([_row(row) for row in found], heads)


def _row(row: Any) -> Row:
    told = orjson.loads(row.envelope or b"{}")
    return Row(
        event_id=encode_id(Prefix.EVENT, row.event_id),
        recipient_id=encode_id(Prefix.AGENT, row.recipient_id),
        name=told.get("correlation_id") or "",
        status=STATUS_OF[Gate(row.gate)].value,
        sequence=getattr(row, "sequence_number", None),
        generation=getattr(row, "claim_generation", 0),
        attempts=getattr(row, "attempts", 0),
        max_attempts=row.max_attempts,
        key=told.get("ordering_key"),
        ordering_sequence=getattr(row, "ordering_sequence", None),
    )
