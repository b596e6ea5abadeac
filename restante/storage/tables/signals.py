"""Hints that cross processes: which inboxes changed, which streams are open, which processes live."""

from __future__ import annotations

from sqlalchemy import Column, Index, Table, Text

from restante.storage.base import (
    TABLE_OPTIONS,
    Hash,
    Id,
    Instant,
    Number,
    Serial,
    ascii_text,
    metadata,
)

# One row per ring, in the transaction that made something claimable. Its order is not that of
# the commits: the tailer reads with an overlap. Pruned by id, so that a ring needs no clock.
wake = Table(
    "wake",
    metadata,
    Column("wake_id", Serial, primary_key=True, autoincrement=True),
    Column("recipient_id", Id, nullable=False),
    Column("project_id", Id, nullable=False),
    Column("head", Number, nullable=True),
    sqlite_autoincrement=True,
    **TABLE_OPTIONS,
)

open_stream = Table(
    "open_stream",
    metadata,
    Column("stream_id", Id, primary_key=True),
    Column("recipient_id", Id, nullable=False),
    Column("node_id", Id, nullable=False),
    Column("opened_at", Instant, nullable=False),
    Index(None, "recipient_id"),
    Index(None, "node_id"),
    **TABLE_OPTIONS,
)

# A process that serves streams; gone when not seen for a while.
node = Table(
    "node",
    metadata,
    Column("node_id", Id, primary_key=True),
    Column("seen_at", Instant, nullable=False),
    **TABLE_OPTIONS,
)

# Opens one stream for who had a token, whose claims these are. Spent: its row is gone.
subscribe_ticket = Table(
    "subscribe_ticket",
    metadata,
    Column("ticket_hash", Hash, primary_key=True),
    Column("recipient_id", Id, nullable=False),
    Column("credential_id", Id, nullable=False),
    Column("token_id", ascii_text(32), nullable=False),
    Column("kid", ascii_text(64), nullable=False),
    Column("scopes", Text, nullable=False),
    Column("issued_at", Number, nullable=False),  # of the token; seconds since 1970, as it says
    Column("token_expires_at", Number, nullable=False),
    Column("expires_at", Instant, nullable=False),
    Index(None, "expires_at"),
    **TABLE_OPTIONS,
)
