"""What agents remember: one row a key, tombstones among them, and one an agent, which is the lock.

A value stands in its row: unlike an event's payload (decision 0002) it is written whenever the row is.
"""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, Index, Integer, String, Table

from restante.storage.base import (
    TABLE_OPTIONS,
    Blob,
    Hash,
    Id,
    Instant,
    Number,
    ascii_text,
    metadata,
)

# One row an agent that anything was ever written for: the lock under which its revisions are given.
agent_memory = Table(
    "agent_memory",
    metadata,
    Column("agent_id", Id, primary_key=True),
    Column("tenant_id", Id, nullable=False),
    Column("memory_revision", Number, nullable=False),
    # the smallest revision not answered 410; raised and committed before the tombstones below it go
    Column("oldest_revision", Number, nullable=False, server_default="0"),
    CheckConstraint("oldest_revision <= memory_revision", name="floor"),
    **TABLE_OPTIONS,
)

memory_entry = Table(
    "memory_entry",
    metadata,
    Column("agent_id", Id, primary_key=True),
    Column("project_id", Id, primary_key=True),
    Column("key_hash", Hash, primary_key=True),
    Column("entry_key", String(200), nullable=False),
    # of its last write, and its version: given once an agent, so a version never comes again
    Column("revision", Number, nullable=False),
    # JSON as it was received; NULL: deleted, and JSON's null is four bytes
    Column("value", Blob, nullable=True),
    Column("value_bytes", Integer, nullable=False),
    Column("updated_at", Instant, nullable=False),
    Column("deleted_at", Instant, nullable=True),
    Column("writer", ascii_text(64), nullable=False),
    CheckConstraint("(value IS NULL) = (deleted_at IS NOT NULL)", name="tombstone_has_no_value"),
    Index("memory_since", "agent_id", "revision"),
    Index("memory_keys", "agent_id", "project_id", "deleted_at"),
    Index("memory_tombstone", "deleted_at"),
    **TABLE_OPTIONS,
)
