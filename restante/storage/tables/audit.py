"""The audit: entries that are only ever added, one chain of hashes per tenant and one of the platform."""

from __future__ import annotations

from sqlalchemy import Column, Index, String, Table

from restante.storage.base import TABLE_OPTIONS, Hash, Id, Instant, Number, ascii_text, metadata

# The end of a chain, and the lock under which its next entry is written: last in the lock order.
audit_chain = Table(
    "audit_chain",
    metadata,
    Column("chain_id", Id, primary_key=True),  # the tenant's id; zeros: the platform
    Column("last_number", Number, nullable=False),
    Column("last_hash", Hash, nullable=False),
    **TABLE_OPTIONS,
)

audit_entry = Table(
    "audit_entry",
    metadata,
    Column("chain_id", Id, primary_key=True),
    Column("number", Number, primary_key=True, autoincrement=False),  # dense, from 1
    Column("entry_id", Id, nullable=False, unique=True),
    Column("at", Instant, nullable=False),
    Column("actor_kind", ascii_text(16), nullable=False),
    Column("actor_id", String(190), nullable=True),
    Column("action", ascii_text(40), nullable=False),
    Column("target", String(190), nullable=True),
    Column("outcome", ascii_text(8), nullable=False),
    Column("reason", String(500), nullable=True),
    Column("address", ascii_text(45), nullable=True),
    Column("request_id", ascii_text(128), nullable=True),
    Column("previous_hash", Hash, nullable=False),
    Column("entry_hash", Hash, nullable=False),
    Index("audit_of_target", "chain_id", "target", "number"),
    Index("audit_of_action", "chain_id", "action", "number"),
    Index("audit_of_actor", "chain_id", "actor_id", "number"),
    Index("audit_by_time", "chain_id", "at", "number"),
    **TABLE_OPTIONS,
)
