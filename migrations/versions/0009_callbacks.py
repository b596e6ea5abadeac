"""Webhooks: callbacks, their secrets and challenges, and what was tried."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from restante.storage.base import TABLE_OPTIONS, Blob, Hash, Id, Instant, Number, ascii_text

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "callback",
        sa.Column("callback_id", Id, primary_key=True),
        sa.Column("tenant_id", Id, nullable=False),
        sa.Column("agent_id", Id, nullable=False),
        sa.Column("url", ascii_text(2048), nullable=False),
        sa.Column("mode", ascii_text(8), nullable=False),
        sa.Column("projects", sa.Text, nullable=True),
        sa.Column("max_in_flight", sa.Integer, nullable=False),
        sa.Column("status", ascii_text(20), nullable=False),
        sa.Column("status_reason", sa.String(500), nullable=True),
        sa.Column("created_at", Instant, nullable=False),
        sa.Column("changed_at", Instant, nullable=False),
        sa.Column("approved_at", Instant, nullable=True),
        sa.Column("challenge_id", Id, nullable=True),
        sa.Column("challenge_ends_at", Instant, nullable=True),
        sa.Column("challenge_reason", ascii_text(16), nullable=True),
        sa.Column("challenged_at", Instant, nullable=True),
        sa.Column("challenge_failures", sa.Integer, nullable=False, server_default="0"),
        sa.Column("challenge_failing_since", Instant, nullable=True),
        sa.Column("challenge_due_at", Instant, nullable=True),
        sa.Column("seen_address", ascii_text(16), nullable=True),
        sa.Column("seen_names", sa.Text, nullable=True),
        sa.Column("seen_expires_at", Instant, nullable=True),
        sa.Column("seen_latency_ms", sa.Integer, nullable=True),
        sa.Column("due_at", Instant, nullable=True),
        sa.Column("turn", Number, nullable=False, server_default="0"),
        sa.Column("failures", sa.Integer, nullable=False, server_default="0"),
        sa.Column("failing_since", Instant, nullable=True),
        sa.Column("delivered_at", Instant, nullable=True),
        sa.Column("notified_cursor", Number, nullable=True),
        sa.CheckConstraint("mode IN ('notify', 'deliver')", name=op.f("ck_callback_mode")),
        sa.CheckConstraint(
            "status IN ('challenge_failed', 'pending_approval', 'active', 'suspended', 'rejected', "
            "'removed')",
            name=op.f("ck_callback_status"),
        ),
        sa.CheckConstraint(
            "(status = 'active') = (due_at IS NOT NULL)", name=op.f("ck_callback_active_has_timer")
        ),
        sa.CheckConstraint(
            "(status = 'active') = (challenge_due_at IS NOT NULL)",
            name=op.f("ck_callback_active_is_challenged"),
        ),
        **TABLE_OPTIONS,
    )
    op.create_index("callbacks_of_agent", "callback", ["agent_id", "callback_id"])
    op.create_index("callbacks_of_tenant", "callback", ["tenant_id", "status", "callback_id"])
    op.create_index("callback_due", "callback", ["due_at"])
    op.create_index("callback_challenge_due", "callback", ["challenge_due_at"])
    op.create_table(
        "callback_secret",
        sa.Column("secret_id", Id, primary_key=True),
        sa.Column("callback_id", Id, nullable=False),
        sa.Column("secret_sealed", Blob, nullable=False),
        sa.Column("created_at", Instant, nullable=False),
        sa.Column("signs_until", Instant, nullable=True),
        **TABLE_OPTIONS,
    )
    op.create_index(op.f("ix_callback_secret_callback_id"), "callback_secret", ["callback_id"])
    op.create_index(op.f("ix_callback_secret_signs_until"), "callback_secret", ["signs_until"])
    op.create_table(
        "callback_challenge",
        sa.Column("challenge_id", Id, primary_key=True),
        sa.Column("callback_id", Id, nullable=False),
        sa.Column("host_hash", Hash, nullable=False),
        sa.Column("sent_at", Instant, nullable=False),
        **TABLE_OPTIONS,
    )
    op.create_index("challenges_of_host", "callback_challenge", ["host_hash", "sent_at"])
    op.create_index(op.f("ix_callback_challenge_sent_at"), "callback_challenge", ["sent_at"])
    op.create_table(
        "callback_host",
        sa.Column("host_hash", Hash, primary_key=True),
        sa.Column("challenged_at", Instant, nullable=False),
        **TABLE_OPTIONS,
    )
    op.create_index(op.f("ix_callback_host_challenged_at"), "callback_host", ["challenged_at"])
    op.create_table(
        "callback_attempt",
        sa.Column("attempt_id", Id, primary_key=True),
        sa.Column("callback_id", Id, nullable=False),
        sa.Column("event_id", Id, nullable=True),
        sa.Column("at", Instant, nullable=False),
        sa.Column("outcome", ascii_text(24), nullable=False),
        sa.Column("status", sa.Integer, nullable=True),
        sa.Column("duration_ms", sa.Integer, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("next_at", Instant, nullable=True),
        **TABLE_OPTIONS,
    )
    op.create_index("attempts_of_callback", "callback_attempt", ["callback_id", "attempt_id"])
    op.create_index(op.f("ix_callback_attempt_at"), "callback_attempt", ["at"])
