"""What operators do to many quarantined events at once: jobs, and what each still has to do."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from restante.storage.base import TABLE_OPTIONS, Blob, Id, Instant, Number, ascii_text

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "triage_job",
        sa.Column("job_id", Id, primary_key=True),
        sa.Column("tenant_id", Id, nullable=False),
        sa.Column("action", ascii_text(16), nullable=False),
        sa.Column("state", ascii_text(16), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("actor_kind", ascii_text(16), nullable=False),
        sa.Column("actor_id", sa.String(190), nullable=True),
        sa.Column("forced", sa.Boolean(), nullable=False),
        sa.Column("stagger_ms", Number, nullable=False),
        sa.Column("amended_payload", Blob, nullable=True),
        sa.Column("matched", sa.Integer(), nullable=False),
        sa.Column("later_settled", sa.Integer(), nullable=False),
        sa.Column("beyond_dedup_horizon", sa.Integer(), nullable=False),
        sa.Column("capped", sa.Boolean(), nullable=False),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.Column("done", sa.Integer(), nullable=False),
        sa.Column("skipped", sa.Integer(), nullable=False),
        sa.Column("created_at", Instant, nullable=False),
        sa.Column("finished_at", Instant, nullable=True),
        sa.Column("due_at", Instant, nullable=True),
        sa.CheckConstraint(
            "(state = 'running') = (finished_at IS NULL)",
            name=op.f("ck_triage_job_ended_has_instant"),
        ),
        sa.CheckConstraint(
            "(state = 'running') = (due_at IS NOT NULL)",
            name=op.f("ck_triage_job_running_has_timer"),
        ),
        **TABLE_OPTIONS,
    )
    op.create_index(op.f("ix_triage_job_finished_at"), "triage_job", ["finished_at"])
    op.create_index("triage_due", "triage_job", ["due_at"])
    op.create_index("triage_of_tenant", "triage_job", ["tenant_id", "job_id"])
    op.create_table(
        "triage_item",
        sa.Column("job_id", Id, primary_key=True),
        sa.Column("ordinal", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("event_id", Id, nullable=False),
        **TABLE_OPTIONS,
    )
    op.create_index(
        "quarantine_of_signature",
        "event_failure",
        ["tenant_id", "failure_signature", "quarantined_at"],
    )
