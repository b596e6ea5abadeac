"""What is unread for too long, and which events a newer one supersedes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from restante.storage.base import TABLE_OPTIONS, Hash, Id, Instant, Number

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("project", sa.Column("unread_after_seconds", sa.Integer(), nullable=True))
    op.add_column("project", sa.Column("unread_escalate_to", Id, nullable=True))
    op.create_table(
        "unread_mark",
        sa.Column("recipient_id", Id, primary_key=True),
        sa.Column("project_id", Id, primary_key=True),
        sa.Column("sequence_number", Number, nullable=False),
        **TABLE_OPTIONS,
    )
    op.create_table(
        "unread_escalation",
        sa.Column("event_id", Id, primary_key=True),
        sa.Column("tenant_id", Id, nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("recipient_id", Id, nullable=False),
        sa.Column("noted_at", Instant, nullable=False),
        sa.Column("escalated_to", Id, nullable=True),
        sa.Column("escalation_event_id", Id, nullable=True),
        **TABLE_OPTIONS,
    )
    op.create_index("escalations_of_tenant", "unread_escalation", ["tenant_id", "event_id"])
    op.create_index("escalation_age", "unread_escalation", ["noted_at"])
    op.create_table(
        "superseding",
        sa.Column("recipient_id", Id, primary_key=True),
        sa.Column("project_id", Id, primary_key=True),
        sa.Column("key_hash", Hash, primary_key=True),
        sa.Column("event_id", Id, primary_key=True),
        sa.Column("ordering_hash", Hash, nullable=True),
        sa.Column("noted_at", Instant, nullable=False),
        **TABLE_OPTIONS,
    )
    op.create_index("superseding_age", "superseding", ["noted_at"])
