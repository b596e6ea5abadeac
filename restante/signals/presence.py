"""Presence: when an agent was last seen and how far it has read. Hints, written now and then."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy import case, func
from sqlalchemy.dialects import mysql, sqlite
from sqlalchemy.orm import Session

from restante.storage.clock import database_now
from restante.storage.tables.inboxes import presence

PAUSE_SECONDS = 10.0
"""An agent's row is written at most this often by one process."""
MOST_ROWS = 500


class Notes:
    """What this process has seen of agents since it last wrote it down."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: dict[bytes, int | None] = {}
        self._written: dict[bytes, float] = {}

    def note(self, recipient_id: bytes, *, read_cursor: int | None = None) -> None:
        """The agent was here; it has read to `read_cursor`, where that is said."""
        with self._lock:
            known = self._seen.get(recipient_id)
            self._seen[recipient_id] = (
                read_cursor if known is None else max(known, read_cursor or 0)
            )

    def take(self) -> dict[bytes, int | None]:
        """At most 500 agents due to be written, with their read marks; the others stay."""
        now = self._clock()
        with self._lock:
            self._written = {r: at for r, at in self._written.items() if at + PAUSE_SECONDS > now}
            due = [r for r in self._seen if r not in self._written][:MOST_ROWS]
            for recipient_id in due:
                self._written[recipient_id] = now
            return {recipient_id: self._seen.pop(recipient_id) for recipient_id in due}


def write_presence(session: Session, seen: Mapping[bytes, int | None]) -> None:
    """Write when agents were seen and how far they have read; marks only go up."""
    if not seen:
        return
    now = database_now(session)
    rows = [
        {
            "recipient_id": recipient_id,
            "last_seen_at": now,
            "read_cursor": cursor or 0,
            "read_at": None if cursor is None else now,
        }
        for recipient_id, cursor in sorted(seen.items())
    ]
    session.connection().execute(_upsert(session.connection().dialect.name, rows))


def _upsert(dialect: str, rows: list[dict[str, Any]]) -> Any:
    kept = presence.c
    if dialect == "sqlite":
        statement = sqlite.insert(presence).values(rows)
        return statement.on_conflict_do_update(
            index_elements=["recipient_id"], set_=_merged(statement.excluded, kept, func.max)
        )
    insert = mysql.insert(presence).values(rows)
    # MySQL assigns from left to right, each seeing the values before it: the mark comes last
    return insert.on_duplicate_key_update(
        list(_merged(insert.inserted, kept, func.greatest).items())
    )


def _merged(new: Any, kept: Any, greatest: Any) -> dict[str, Any]:
    return {
        "last_seen_at": greatest(kept.last_seen_at, new.last_seen_at),
        "read_at": case(
            (new.read_at.is_not(None) & (new.read_cursor >= kept.read_cursor), new.read_at),
            else_=kept.read_at,
        ),
        "read_cursor": greatest(kept.read_cursor, new.read_cursor),
    }
