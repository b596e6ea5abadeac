"""Assignments: work that is routed to one candidate after another, and every decision with its reasons."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, Index, Integer, String, Table, Text

from restante.storage.base import (
    TABLE_OPTIONS,
    Blob,
    Hash,
    Id,
    Instant,
    ascii_text,
    metadata,
)

assignment = Table(
    "assignment",
    metadata,
    Column("assignment_id", Id, primary_key=True),
    Column("tenant_id", Id, nullable=False),
    Column("project_id", Id, nullable=False),
    Column("state", ascii_text(16), nullable=False),
    Column("policy", ascii_text(16), nullable=False),
    Column("capability", ascii_text(128), nullable=True),
    # JSON: agent ids in the order given; null: whoever fits
    Column("candidates", Text, nullable=True),
    Column("sticky_hash", Hash, nullable=True),
    Column("max_candidates", Integer, nullable=False),
    Column("unread_ms", Integer, nullable=True),
    Column("created_by", ascii_text(64), nullable=False),
    # of its events: all but when they are made
    Column("envelope", Blob, nullable=False),
    # dropped with its end, as that of an event is; kept while nobody has it, since it may be reassigned
    Column("payload", Blob, nullable=False),
    # where it is now, or was last
    Column("agent_id", Id, nullable=True),
    Column("event_id", Id, nullable=True),
    # candidates whose event went into quarantine
    Column("failed", Integer, nullable=False, server_default="0"),
    Column("result", Blob, nullable=True),
    Column("reason", Text, nullable=True),
    Column("created_at", Instant, nullable=False),
    Column("deadline_at", Instant, nullable=True),
    Column("ended_at", Instant, nullable=True),
    # when its event will have been unread for too long; its deadline is the event's expiry
    Column("due_at", Instant, nullable=True),
    CheckConstraint("state = 'assigned' OR due_at IS NULL", name="ended_has_no_timer"),
    Index("assignment_due", "due_at"),
    Index("assignment_ended", "ended_at"),
    Index("assignments_of_tenant", "tenant_id", "state", "assignment_id"),
    Index("assignments_of_agent", "agent_id", "state"),
    **TABLE_OPTIONS,
)

# Every event that an assignment has had, so that the end of one is known to be its concern.
assignment_event = Table(
    "assignment_event",
    metadata,
    Column("event_id", Id, primary_key=True),
    Column("assignment_id", Id, nullable=False),
    Column("agent_id", Id, nullable=False),
    Index(None, "assignment_id"),
    **TABLE_OPTIONS,
)

assignment_routing = Table(
    "assignment_routing",
    metadata,
    Column("assignment_id", Id, primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("at", Instant, nullable=False),
    Column("chosen", Id, nullable=True),
    Column("reason", String(190), nullable=False),
    # JSON, as it is shown
    Column("candidates", Text, nullable=False),
    **TABLE_OPTIONS,
)

# Who has had the work of a key last.
assignment_sticky = Table(
    "assignment_sticky",
    metadata,
    Column("project_id", Id, primary_key=True),
    Column("sticky_hash", Hash, primary_key=True),
    Column("agent_id", Id, nullable=False),
    Column("worked_at", Instant, nullable=True, index=True),
    **TABLE_OPTIONS,
)
