"""What departed from the plain path. An event that is claimed once and acked has no row here."""

from __future__ import annotations

from sqlalchemy import Column, Index, SmallInteger, String, Table, Text

from restante.storage.base import TABLE_OPTIONS, Id, Instant, Number, ascii_text, metadata

event_failure = Table(
    "event_failure",
    metadata,
    Column("event_id", Id, primary_key=True),
    Column("tenant_id", Id, nullable=False),
    Column("recipient_id", Id, nullable=False),
    Column("project_id", Id, nullable=False),
    Column("code", String(128), nullable=False),
    Column("message", String(2000), nullable=False),
    Column("outcome", ascii_text(8), nullable=False),  # none | unknown | failed
    Column("failed_at", Instant, nullable=False),
    Column("attempt", SmallInteger, nullable=False),
    Column("failure_signature", ascii_text(64), nullable=False),
    # set while the event is in quarantine
    Column("quarantined_at", Instant, nullable=True),
    Column("quarantine_reason", ascii_text(32), nullable=True),
    # the work went on in another event: this one is not redriven any more
    Column("superseded_by", Id, nullable=True),
    Index("quarantine", "tenant_id", "quarantined_at", "failure_signature"),
    Index("quarantine_of_signature", "tenant_id", "failure_signature", "quarantined_at"),
    # what a list of operators is narrowed to, in the order in which it came
    *(
        Index(f"quarantine_of_{name}", "tenant_id", column, "quarantined_at", "failure_signature")
        for name, column in (
            ("inbox", "recipient_id"),
            ("project", "project_id"),
            ("reason", "quarantine_reason"),
        )
    ),
    **TABLE_OPTIONS,
)

event_history = Table(
    "event_history",
    metadata,
    Column("event_id", Id, primary_key=True),
    Column("entry_id", Id, primary_key=True),
    Column("at", Instant, nullable=False),
    Column("kind", ascii_text(24), nullable=False),
    Column("generation", Number, nullable=False),
    Column("consumer", String(128), nullable=True),
    Column("actor", ascii_text(64), nullable=True),
    Column("reason", Text, nullable=True),
    **TABLE_OPTIONS,
)
