"""An inbox is one row: the lock under which sequence numbers are given."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, Index, Integer, Table

from restante.storage.base import TABLE_OPTIONS, Hash, Id, Instant, Number, metadata

inbox = Table(
    "inbox",
    metadata,
    Column("recipient_id", Id, primary_key=True),
    Column("tenant_id", Id, nullable=False),
    Column("epoch", Id, nullable=False),
    Column("head", Number, nullable=False, server_default="0"),
    # the smallest cursor not answered 410; raised and committed before the rows below it go
    Column("oldest_cursor", Number, nullable=False, server_default="0"),
    # never less than the unsettled events there are; counted anew when it reaches max_pending
    Column("unsettled_bound", Number, nullable=False, server_default="0"),
    Column("changed_at", Instant, nullable=True),
    CheckConstraint("oldest_cursor <= head", name="floor"),
    Index(None, "tenant_id"),
    **TABLE_OPTIONS,
)

ordering_key = Table(
    "ordering_key",
    metadata,
    Column("recipient_id", Id, primary_key=True),
    Column("project_id", Id, primary_key=True),
    Column("key_hash", Hash, primary_key=True),
    Column("head_sequence", Number, nullable=True),
    Column("fence", Number, nullable=False, server_default="0"),
    Column("ordering_sequence", Number, nullable=False, server_default="0"),
    **TABLE_OPTIONS,
)

# The events that wait for their key's head, under the lock of the key's row.
ordering_waiting = Table(
    "ordering_waiting",
    metadata,
    Column("recipient_id", Id, primary_key=True),
    Column("project_id", Id, primary_key=True),
    Column("key_hash", Hash, primary_key=True),
    Column("sequence_number", Number, primary_key=True),
    **TABLE_OPTIONS,
)

# Hints about an agent; written outside the transactions that matter.
presence = Table(
    "presence",
    metadata,
    Column("recipient_id", Id, primary_key=True),
    Column("last_seen_at", Instant, nullable=False),
    Column("read_cursor", Number, nullable=False, server_default="0"),
    Column("read_at", Instant, nullable=True),
    Column("streams", Integer, nullable=False, server_default="0"),
    **TABLE_OPTIONS,
)
