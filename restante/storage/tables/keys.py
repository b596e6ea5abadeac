"""Keys that callers choose, so that what they repeat is done once."""

from __future__ import annotations

from sqlalchemy import Column, Index, Table

from restante.storage.base import TABLE_OPTIONS, Blob, Hash, Id, Instant, metadata

# Idempotency-Key of a request: only what committed, as the ids it made.
idempotency_key = Table(
    "idempotency_key",
    metadata,
    Column("principal_id", Id, primary_key=True),
    Column("key_hash", Hash, primary_key=True),
    Column("request_hash", Hash, nullable=False),
    Column("made", Blob, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("keep_until", Instant, nullable=False),
    Index("idempotency_keep", "keep_until"),
    **TABLE_OPTIONS,
)

# idempotency_key of a publication.
publication_key = Table(
    "publication_key",
    metadata,
    Column("producer_id", Id, primary_key=True),
    Column("recipient_id", Id, primary_key=True),
    Column("key_hash", Hash, primary_key=True),
    Column("body_hash", Hash, nullable=False),
    Column("event_id", Id, nullable=False),
    Column("keep_until", Instant, nullable=False),
    Index("publication_keep", "keep_until"),
    **TABLE_OPTIONS,
)

# claim_id of a claim that took something; its events carry claim_ref.
claim_record = Table(
    "claim_record",
    metadata,
    Column("recipient_id", Id, primary_key=True),
    Column("claim_ref", Id, primary_key=True),
    Column("created_at", Instant, nullable=False),
    Index("claim_record_age", "created_at"),
    **TABLE_OPTIONS,
)
