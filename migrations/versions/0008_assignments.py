"""Assignments and their routing; which quarantined event another one has superseded."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from restante.storage.base import TABLE_OPTIONS, Blob, Hash, Id, Instant, ascii_text

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("event_failure", sa.Column("superseded_by", Id, nullable=True))
    op.create_table(
        "assignment",
        sa.Column("assignment_id", Id, primary_key=True),
        sa.Column("tenant_id", Id, nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("state", ascii_text(16), nullable=False),
        sa.Column("policy", ascii_text(16), nullable=False),
        sa.Column("capability", ascii_text(128), nullable=True),
        sa.Column("candidates", sa.Text(), nullable=True),
        sa.Column("sticky_hash", Hash, nullable=True),
        sa.Column("max_candidates", sa.Integer(), nullable=False),
        sa.Column("unread_ms", sa.Integer(), nullable=True),
        sa.Column("created_by", ascii_text(64), nullable=False),
        sa.Column("envelope", Blob, nullable=False),
        sa.Column("payload", Blob, nullable=False),
        sa.Column("agent_id", Id, nullable=True),
        sa.Column("event_id", Id, nullable=True),
        sa.Column("failed", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("result", Blob, nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("created_at", Instant, nullable=False),
        sa.Column("deadline_at", Instant, nullable=True),
        sa.Column("ended_at", Instant, nullable=True),
        sa.Column("due_at", Instant, nullable=True),
        sa.CheckConstraint(
            "state = 'assigned' OR due_at IS NULL",
            name=op.f("ck_assignment_ended_has_no_timer"),
        ),
        **TABLE_OPTIONS,
    )
    op.create_index("assignment_due", "assignment", ["due_at"])
    op.create_index("assignments_of_tenant", "assignment", ["tenant_id", "state", "assignment_id"])
    op.create_index("assignments_of_agent", "assignment", ["agent_id", "state"])
    op.create_table(
        "assignment_event",
        sa.Column("event_id", Id, primary_key=True),
        sa.Column("assignment_id", Id, nullable=False),
        sa.Column("agent_id", Id, nullable=False),
        **TABLE_OPTIONS,
    )
    op.create_index(
        op.f("ix_assignment_event_assignment_id"), "assignment_event", ["assignment_id"]
    )
    op.create_table(
        "assignment_routing",
        sa.Column("assignment_id", Id, primary_key=True),
        sa.Column("number", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("at", Instant, nullable=False),
        sa.Column("chosen", Id, nullable=True),
        sa.Column("reason", sa.String(190), nullable=False),
        sa.Column("candidates", sa.Text(), nullable=False),
        **TABLE_OPTIONS,
    )
    op.create_table(
        "assignment_sticky",
        sa.Column("project_id", Id, primary_key=True),
        sa.Column("sticky_hash", Hash, primary_key=True),
        sa.Column("agent_id", Id, nullable=False),
        **TABLE_OPTIONS,
    )
