"""Events published with a supersedes_key, so that a newer one finds those that nobody holds."""

from __future__ import annotations

from sqlalchemy import Column, Index, Table

from restante.storage.base import TABLE_OPTIONS, Hash, Id, Instant, metadata

# Read and written under the lock of the inbox's row only; a row may outlive its event.
superseding = Table(
    "superseding",
    metadata,
    Column("recipient_id", Id, primary_key=True),
    Column("project_id", Id, primary_key=True),
    Column("key_hash", Hash, primary_key=True),
    Column("event_id", Id, primary_key=True),
    # of its ordering key, whose row is locked before the event's
    Column("ordering_hash", Hash, nullable=True),
    Column("noted_at", Instant, nullable=False),
    Index("superseding_age", "noted_at"),
    **TABLE_OPTIONS,
)
