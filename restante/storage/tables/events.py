"""Events: the narrow hot row, its content, those not yet due, and the archive."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Index,
    Integer,
    SmallInteger,
    String,
    Table,
)

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

agent_inbox = Table(
    "agent_inbox",
    metadata,
    Column("recipient_id", Id, primary_key=True),
    Column("sequence_number", Number, primary_key=True, autoincrement=False),
    Column("event_id", Id, nullable=False, unique=True),
    Column("project_id", Id, nullable=False),
    Column("gate", SmallInteger, nullable=False),  # lifecycle.Gate
    Column("rank", SmallInteger, nullable=False),  # -priority: both order columns ascend
    Column("payload_bytes", Integer, nullable=False),
    Column("max_attempts", SmallInteger, nullable=False),
    Column("attempts", SmallInteger, nullable=False, server_default="0"),
    Column("releases", SmallInteger, nullable=False, server_default="0"),
    Column("claim_generation", Number, nullable=False, server_default="0"),
    Column("claim_ref", Id, nullable=True),
    Column("consumer", String(128), nullable=True),
    Column("claimed_at", Instant, nullable=True),
    Column("first_claimed_at", Instant, nullable=True),
    Column("claim_expires_at", Instant, nullable=True),
    Column("claim_ended_by", SmallInteger, nullable=False, server_default="0"),
    Column("key_hash", Hash, nullable=True),
    Column("ordering_sequence", Number, nullable=True),
    # fence of a claim = fence_base (set when it became its key's head) + claim_generation
    Column("fence_base", BigInteger, nullable=True),
    Column("available_at", Instant, nullable=False),
    Column("not_before", Instant, nullable=True),
    Column("expires_at", Instant, nullable=True),
    # the one timer: lease end, end of a delay, expiry
    Column("due_at", Instant, nullable=True),
    Column("final_at", Instant, nullable=True),
    Column("cancel_requested", Boolean, nullable=False, server_default="0"),
    Column("redriven", Boolean, nullable=False, server_default="0"),
    # a work assignment: only who claimed it completes it, no cursor does
    Column("claim_only", Boolean, nullable=False, server_default="0"),
    CheckConstraint("gate BETWEEN 1 AND 8", name="gate"),
    CheckConstraint("(gate = 4) = (claim_expires_at IS NOT NULL)", name="claimed_has_deadline"),
    CheckConstraint("(gate = 4) = (consumer IS NOT NULL)", name="claimed_has_consumer"),
    CheckConstraint("gate < 5 OR due_at IS NULL", name="ended_has_no_timer"),
    CheckConstraint("(gate > 5) = (final_at IS NOT NULL)", name="final_has_instant"),
    CheckConstraint("gate <> 2 OR key_hash IS NOT NULL", name="waiting_has_key"),
    # The claim: equality on three columns, both order columns ascending. A read by the index of
    # the first draft (recipient, status, sequence) would lock what it rejects.
    Index("claim", "recipient_id", "project_id", "gate", "rank", "sequence_number"),
    Index("due_of_inbox", "recipient_id", "due_at"),
    Index("due", "due_at"),
    **TABLE_OPTIONS,
)

event_content = Table(
    "event_content",
    metadata,
    Column("recipient_id", Id, primary_key=True),
    Column("sequence_number", Number, primary_key=True, autoincrement=False),
    # what never changes, as the JSON object it is answered with (envelope.py)
    Column("envelope", Blob, nullable=False),
    # what the server keeps to itself (envelope.Options), where it is not the default
    Column("options", Blob, nullable=True),
    Column("payload", Blob, nullable=True),
    Column("result", Blob, nullable=True),
    Column("progress", Blob, nullable=True),
    **TABLE_OPTIONS,
)

scheduled_event = Table(
    "scheduled_event",
    metadata,
    Column("event_id", Id, primary_key=True),
    Column("recipient_id", Id, nullable=False),
    Column("project_id", Id, nullable=False),
    Column("gate", SmallInteger, nullable=False),  # 0, or 7 once cancelled
    Column("rank", SmallInteger, nullable=False),
    Column("payload_bytes", Integer, nullable=False),
    Column("max_attempts", SmallInteger, nullable=False),
    Column("key_hash", Hash, nullable=True),
    Column("available_at", Instant, nullable=False),
    Column("expires_at", Instant, nullable=True),
    Column("due_at", Instant, nullable=True),
    Column("final_at", Instant, nullable=True),
    Column("envelope", Blob, nullable=False),
    Column("options", Blob, nullable=True),
    Column("payload", Blob, nullable=False),
    CheckConstraint("gate IN (0, 7)", name="gate"),
    CheckConstraint("(gate = 0) = (due_at IS NOT NULL)", name="scheduled_has_timer"),
    CheckConstraint("(gate = 7) = (final_at IS NOT NULL)", name="final_has_instant"),
    Index("scheduled_of_inbox", "recipient_id", "due_at", "event_id"),
    Index("scheduled_due", "due_at"),
    Index("scheduled_final", "final_at"),
    **TABLE_OPTIONS,
)

archived_event = Table(
    "archived_event",
    metadata,
    Column("event_id", Id, primary_key=True),
    Column("recipient_id", Id, nullable=False),
    Column("sequence_number", Number, nullable=True),
    Column("project_id", Id, nullable=False),
    Column("gate", SmallInteger, nullable=False),
    Column("attempts", SmallInteger, nullable=False),
    Column("max_attempts", SmallInteger, nullable=False),
    Column("claim_generation", Number, nullable=False),
    Column("ordering_sequence", Number, nullable=True),
    Column("available_at", Instant, nullable=False),
    Column("first_claimed_at", Instant, nullable=True),
    Column("expires_at", Instant, nullable=True),
    Column("final_at", Instant, nullable=False),
    Column("archived_at", Instant, nullable=False),
    Column("cancel_requested", Boolean, nullable=False, server_default="0"),
    Column("redriven", Boolean, nullable=False, server_default="0"),
    Column("reason", ascii_text(32), nullable=True),  # retention: it expired unsettled
    Column("envelope", Blob, nullable=False),
    Column("payload", Blob, nullable=True),
    Column("result", Blob, nullable=True),
    CheckConstraint("gate BETWEEN 6 AND 8", name="gate"),
    Index("archived_of_inbox", "recipient_id", "sequence_number"),
    **TABLE_OPTIONS,
)

event_correlation = Table(
    "event_correlation",
    metadata,
    Column("tenant_id", Id, primary_key=True),
    Column("correlation_hash", Hash, primary_key=True),
    Column("event_id", Id, primary_key=True),
    **TABLE_OPTIONS,
)
