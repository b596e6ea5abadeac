"""Events that nobody has read for too long, and how far that was looked for."""

from __future__ import annotations

from sqlalchemy import Column, Index, Table

from restante.storage.base import TABLE_OPTIONS, Id, Instant, Number, metadata

# Up to here an inbox was looked through for a project's unread events: none is looked at twice.
unread_mark = Table(
    "unread_mark",
    metadata,
    Column("recipient_id", Id, primary_key=True),
    Column("project_id", Id, primary_key=True),
    Column("sequence_number", Number, nullable=False),
    **TABLE_OPTIONS,
)

# One row an event, once. Without an agent it is for the operators.
unread_escalation = Table(
    "unread_escalation",
    metadata,
    Column("event_id", Id, primary_key=True),
    Column("tenant_id", Id, nullable=False),
    Column("project_id", Id, nullable=False),
    Column("recipient_id", Id, nullable=False),
    Column("noted_at", Instant, nullable=False),
    Column("escalated_to", Id, nullable=True),
    Column("escalation_event_id", Id, nullable=True),
    Index("escalations_of_tenant", "tenant_id", "event_id"),
    Index("escalation_age", "noted_at"),
    **TABLE_OPTIONS,
)
