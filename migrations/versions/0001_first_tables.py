"""The first tables.

Types are the vocabulary of `restante.storage.base`; a changed type there is a migration here.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from restante.storage.base import TABLE_OPTIONS, Blob, Hash, Id, Instant, Serial, ascii_text

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "agent_inbox",
        sa.Column("recipient_id", Id, primary_key=True),
        sa.Column("sequence_number", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("event_id", Id, nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("gate", sa.SmallInteger(), nullable=False),
        sa.Column("rank", sa.SmallInteger(), nullable=False),
        sa.Column("payload_bytes", sa.Integer(), nullable=False),
        sa.Column("max_attempts", sa.SmallInteger(), nullable=False),
        sa.Column("attempts", sa.SmallInteger(), nullable=False, server_default="0"),
        sa.Column("releases", sa.SmallInteger(), nullable=False, server_default="0"),
        sa.Column("claim_generation", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("claim_ref", Id, nullable=True),
        sa.Column("consumer", sa.String(128), nullable=True),
        sa.Column("claimed_at", Instant, nullable=True),
        sa.Column("first_claimed_at", Instant, nullable=True),
        sa.Column("claim_expires_at", Instant, nullable=True),
        sa.Column("claim_ended_by", sa.SmallInteger(), nullable=False, server_default="0"),
        sa.Column("key_hash", Hash, nullable=True),
        sa.Column("ordering_sequence", sa.BigInteger(), nullable=True),
        sa.Column("fence_base", sa.BigInteger(), nullable=True),
        sa.Column("available_at", Instant, nullable=False),
        sa.Column("not_before", Instant, nullable=True),
        sa.Column("expires_at", Instant, nullable=True),
        sa.Column("due_at", Instant, nullable=True),
        sa.Column("final_at", Instant, nullable=True),
        sa.Column("cancel_requested", sa.Boolean(), nullable=False, server_default="0"),
        sa.Column("redriven", sa.Boolean(), nullable=False, server_default="0"),
        sa.Column("claim_only", sa.Boolean(), nullable=False, server_default="0"),
        sa.CheckConstraint(
            "(gate = 4) = (consumer IS NOT NULL)", name=op.f("ck_agent_inbox_claimed_has_consumer")
        ),
        sa.CheckConstraint(
            "(gate = 4) = (claim_expires_at IS NOT NULL)",
            name=op.f("ck_agent_inbox_claimed_has_deadline"),
        ),
        sa.CheckConstraint(
            "gate < 5 OR due_at IS NULL", name=op.f("ck_agent_inbox_ended_has_no_timer")
        ),
        sa.CheckConstraint(
            "(gate > 5) = (final_at IS NOT NULL)", name=op.f("ck_agent_inbox_final_has_instant")
        ),
        sa.CheckConstraint("gate BETWEEN 1 AND 8", name=op.f("ck_agent_inbox_gate")),
        sa.CheckConstraint(
            "gate <> 2 OR key_hash IS NOT NULL", name=op.f("ck_agent_inbox_waiting_has_key")
        ),
        sa.UniqueConstraint("event_id", name=op.f("uq_agent_inbox_event_id")),
        **TABLE_OPTIONS,
    )
    op.create_index(
        op.f("claim"),
        "agent_inbox",
        ["recipient_id", "project_id", "gate", "rank", "sequence_number"],
    )
    op.create_index(op.f("due"), "agent_inbox", ["due_at"])
    op.create_index(op.f("due_of_inbox"), "agent_inbox", ["recipient_id", "due_at"])
    op.create_table(
        "event_content",
        sa.Column("recipient_id", Id, primary_key=True),
        sa.Column("sequence_number", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("envelope", Blob, nullable=False),
        sa.Column("options", Blob, nullable=True),
        sa.Column("payload", Blob, nullable=True),
        sa.Column("result", Blob, nullable=True),
        sa.Column("progress", Blob, nullable=True),
        **TABLE_OPTIONS,
    )
    op.create_table(
        "scheduled_event",
        sa.Column("event_id", Id, primary_key=True),
        sa.Column("recipient_id", Id, nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("gate", sa.SmallInteger(), nullable=False),
        sa.Column("rank", sa.SmallInteger(), nullable=False),
        sa.Column("payload_bytes", sa.Integer(), nullable=False),
        sa.Column("max_attempts", sa.SmallInteger(), nullable=False),
        sa.Column("key_hash", Hash, nullable=True),
        sa.Column("available_at", Instant, nullable=False),
        sa.Column("expires_at", Instant, nullable=True),
        sa.Column("due_at", Instant, nullable=True),
        sa.Column("final_at", Instant, nullable=True),
        sa.Column("envelope", Blob, nullable=False),
        sa.Column("options", Blob, nullable=True),
        sa.Column("payload", Blob, nullable=False),
        sa.CheckConstraint(
            "(gate = 7) = (final_at IS NOT NULL)", name=op.f("ck_scheduled_event_final_has_instant")
        ),
        sa.CheckConstraint("gate IN (0, 7)", name=op.f("ck_scheduled_event_gate")),
        sa.CheckConstraint(
            "(gate = 0) = (due_at IS NOT NULL)", name=op.f("ck_scheduled_event_scheduled_has_timer")
        ),
        **TABLE_OPTIONS,
    )
    op.create_index(op.f("scheduled_due"), "scheduled_event", ["due_at"])
    op.create_index(op.f("scheduled_final"), "scheduled_event", ["final_at"])
    op.create_index(
        op.f("scheduled_of_inbox"), "scheduled_event", ["recipient_id", "due_at", "event_id"]
    )
    op.create_table(
        "archived_event",
        sa.Column("event_id", Id, primary_key=True),
        sa.Column("recipient_id", Id, nullable=False),
        sa.Column("sequence_number", sa.BigInteger(), nullable=True),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("gate", sa.SmallInteger(), nullable=False),
        sa.Column("attempts", sa.SmallInteger(), nullable=False),
        sa.Column("max_attempts", sa.SmallInteger(), nullable=False),
        sa.Column("claim_generation", sa.BigInteger(), nullable=False),
        sa.Column("ordering_sequence", sa.BigInteger(), nullable=True),
        sa.Column("available_at", Instant, nullable=False),
        sa.Column("first_claimed_at", Instant, nullable=True),
        sa.Column("expires_at", Instant, nullable=True),
        sa.Column("final_at", Instant, nullable=False),
        sa.Column("archived_at", Instant, nullable=False),
        sa.Column("cancel_requested", sa.Boolean(), nullable=False, server_default="0"),
        sa.Column("redriven", sa.Boolean(), nullable=False, server_default="0"),
        sa.Column("reason", ascii_text(32), nullable=True),
        sa.Column("envelope", Blob, nullable=False),
        sa.Column("payload", Blob, nullable=True),
        sa.Column("result", Blob, nullable=True),
        sa.CheckConstraint("gate BETWEEN 6 AND 8", name=op.f("ck_archived_event_gate")),
        **TABLE_OPTIONS,
    )
    op.create_index(
        op.f("archived_of_inbox"), "archived_event", ["recipient_id", "sequence_number"]
    )
    op.create_table(
        "event_correlation",
        sa.Column("tenant_id", Id, primary_key=True),
        sa.Column("correlation_hash", Hash, primary_key=True),
        sa.Column("event_id", Id, primary_key=True),
        **TABLE_OPTIONS,
    )
    op.create_table(
        "event_failure",
        sa.Column("event_id", Id, primary_key=True),
        sa.Column("tenant_id", Id, nullable=False),
        sa.Column("recipient_id", Id, nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("code", sa.String(128), nullable=False),
        sa.Column("message", sa.String(2000), nullable=False),
        sa.Column("outcome", ascii_text(8), nullable=False),
        sa.Column("failed_at", Instant, nullable=False),
        sa.Column("attempt", sa.SmallInteger(), nullable=False),
        sa.Column("failure_signature", ascii_text(64), nullable=False),
        sa.Column("quarantined_at", Instant, nullable=True),
        sa.Column("quarantine_reason", ascii_text(32), nullable=True),
        **TABLE_OPTIONS,
    )
    op.create_index(
        op.f("quarantine"), "event_failure", ["tenant_id", "quarantined_at", "failure_signature"]
    )
    op.create_table(
        "event_history",
        sa.Column("event_id", Id, primary_key=True),
        sa.Column("entry_id", Id, primary_key=True),
        sa.Column("at", Instant, nullable=False),
        sa.Column("kind", ascii_text(24), nullable=False),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.Column("consumer", sa.String(128), nullable=True),
        sa.Column("actor", ascii_text(64), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        **TABLE_OPTIONS,
    )
    op.create_table(
        "tenant",
        sa.Column("tenant_id", Id, primary_key=True),
        sa.Column("name", sa.String(190), nullable=False),
        sa.Column("require_signatures", sa.Boolean(), nullable=False),
        sa.Column("allowed_origins", sa.Text(), nullable=True),
        sa.Column("max_pending", sa.Integer(), nullable=True),
        sa.Column("created_at", Instant, nullable=False),
        sa.UniqueConstraint("name", name=op.f("uq_tenant_name")),
        **TABLE_OPTIONS,
    )
    op.create_table(
        "project",
        sa.Column("project_id", Id, primary_key=True),
        sa.Column("tenant_id", Id, nullable=False),
        sa.Column("slug", ascii_text(64), nullable=False),
        sa.Column("on_quarantine", ascii_text(8), nullable=False, server_default="skip"),
        sa.Column("created_at", Instant, nullable=False),
        sa.UniqueConstraint("tenant_id", "slug", name=op.f("uq_project_tenant_id_slug")),
        **TABLE_OPTIONS,
    )
    op.create_table(
        "principal",
        sa.Column("principal_id", Id, primary_key=True),
        sa.Column("tenant_id", Id, nullable=False),
        sa.Column("kind", ascii_text(8), nullable=False),
        sa.Column("name", sa.String(190), nullable=False),
        sa.Column("status", ascii_text(8), nullable=False, server_default="active"),
        sa.Column("created_at", Instant, nullable=False),
        sa.Column("capabilities", sa.Text(), nullable=True),
        sa.Column("paused", sa.Boolean(), nullable=False, server_default="0"),
        sa.Column("max_in_flight", sa.Integer(), nullable=True),
        sa.Column("max_pending", sa.Integer(), nullable=True),
        sa.UniqueConstraint(
            "tenant_id", "kind", "name", name=op.f("uq_principal_tenant_id_kind_name")
        ),
        **TABLE_OPTIONS,
    )
    op.create_table(
        "granted_scope",
        sa.Column("principal_id", Id, primary_key=True),
        sa.Column("scope", ascii_text(96), primary_key=True),
        **TABLE_OPTIONS,
    )
    op.create_table(
        "credential",
        sa.Column("credential_id", Id, primary_key=True),
        sa.Column("principal_id", Id, nullable=False),
        sa.Column("kind", ascii_text(16), nullable=False),
        sa.Column("secret_hash", Hash, nullable=True),
        sa.Column("created_at", Instant, nullable=False),
        sa.Column("revoked_at", Instant, nullable=True),
        **TABLE_OPTIONS,
    )
    op.create_index(op.f("ix_credential_principal_id"), "credential", ["principal_id"])
    op.create_table(
        "failed_attempt",
        sa.Column("subject_hash", Hash, primary_key=True),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("window_began_at", Instant, nullable=False),
        **TABLE_OPTIONS,
    )
    op.create_index(
        op.f("ix_failed_attempt_window_began_at"), "failed_attempt", ["window_began_at"]
    )
    op.create_table(
        "token_key",
        sa.Column("kid", ascii_text(64), primary_key=True),
        sa.Column("algorithm", ascii_text(16), nullable=False),
        sa.Column("public_jwk", sa.Text(), nullable=False),
        sa.Column("private_sealed", Blob, nullable=False),
        sa.Column("created_at", Instant, nullable=False),
        sa.Column("signs_until", Instant, nullable=True),
        sa.Column("verifies_until", Instant, nullable=True),
        **TABLE_OPTIONS,
    )
    op.create_table(
        "inbox",
        sa.Column("recipient_id", Id, primary_key=True),
        sa.Column("tenant_id", Id, nullable=False),
        sa.Column("epoch", Id, nullable=False),
        sa.Column("head", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("oldest_cursor", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("unsettled_bound", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("changed_at", Instant, nullable=True),
        sa.CheckConstraint("oldest_cursor <= head", name=op.f("ck_inbox_floor")),
        **TABLE_OPTIONS,
    )
    op.create_index(op.f("ix_inbox_tenant_id"), "inbox", ["tenant_id"])
    op.create_table(
        "ordering_key",
        sa.Column("recipient_id", Id, primary_key=True),
        sa.Column("project_id", Id, primary_key=True),
        sa.Column("key_hash", Hash, primary_key=True),
        sa.Column("head_sequence", sa.BigInteger(), nullable=True),
        sa.Column("fence", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("ordering_sequence", sa.BigInteger(), nullable=False, server_default="0"),
        **TABLE_OPTIONS,
    )
    op.create_table(
        "ordering_waiting",
        sa.Column("recipient_id", Id, primary_key=True),
        sa.Column("project_id", Id, primary_key=True),
        sa.Column("key_hash", Hash, primary_key=True),
        sa.Column("sequence_number", sa.BigInteger(), primary_key=True),
        **TABLE_OPTIONS,
    )
    op.create_table(
        "presence",
        sa.Column("recipient_id", Id, primary_key=True),
        sa.Column("last_seen_at", Instant, nullable=False),
        sa.Column("read_cursor", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("read_at", Instant, nullable=True),
        sa.Column("streams", sa.Integer(), nullable=False, server_default="0"),
        **TABLE_OPTIONS,
    )
    op.create_table(
        "idempotency_key",
        sa.Column("principal_id", Id, primary_key=True),
        sa.Column("key_hash", Hash, primary_key=True),
        sa.Column("request_hash", Hash, nullable=False),
        sa.Column("made", Blob, nullable=False),
        sa.Column("created_at", Instant, nullable=False),
        sa.Column("keep_until", Instant, nullable=False),
        **TABLE_OPTIONS,
    )
    op.create_index(op.f("idempotency_keep"), "idempotency_key", ["keep_until"])
    op.create_table(
        "publication_key",
        sa.Column("producer_id", Id, primary_key=True),
        sa.Column("recipient_id", Id, primary_key=True),
        sa.Column("key_hash", Hash, primary_key=True),
        sa.Column("body_hash", Hash, nullable=False),
        sa.Column("event_id", Id, nullable=False),
        sa.Column("keep_until", Instant, nullable=False),
        **TABLE_OPTIONS,
    )
    op.create_index(op.f("publication_keep"), "publication_key", ["keep_until"])
    op.create_table(
        "claim_record",
        sa.Column("recipient_id", Id, primary_key=True),
        sa.Column("claim_ref", Id, primary_key=True),
        sa.Column("created_at", Instant, nullable=False),
        **TABLE_OPTIONS,
    )
    op.create_index(op.f("claim_record_age"), "claim_record", ["created_at"])
    op.create_table(
        "sample",
        sa.Column("sampled_at", Instant, primary_key=True),
        sa.Column("scope", ascii_text(40), primary_key=True),
        sa.Column("measure", ascii_text(48), primary_key=True),
        sa.Column("amount", sa.Float(53), nullable=False),
        **TABLE_OPTIONS,
    )
    op.create_table(
        "incarnation",
        sa.Column("incarnation_id", ascii_text(40), primary_key=True),
        sa.Column("begun_at", Instant, nullable=False),
        sa.Column("mark", sa.BigInteger(), nullable=False, server_default="0"),
        **TABLE_OPTIONS,
    )
    op.create_table(
        "wake",
        sa.Column("wake_id", Serial, primary_key=True, autoincrement=True),
        sa.Column("recipient_id", Id, nullable=False),
        sa.Column("project_id", Id, nullable=False),
        sa.Column("head", sa.BigInteger(), nullable=True),
        sqlite_autoincrement=True,
        **TABLE_OPTIONS,
    )
    op.create_table(
        "open_stream",
        sa.Column("stream_id", Id, primary_key=True),
        sa.Column("recipient_id", Id, nullable=False),
        sa.Column("node_id", Id, nullable=False),
        sa.Column("opened_at", Instant, nullable=False),
        **TABLE_OPTIONS,
    )
    op.create_index(op.f("ix_open_stream_node_id"), "open_stream", ["node_id"])
    op.create_index(op.f("ix_open_stream_recipient_id"), "open_stream", ["recipient_id"])
    op.create_table(
        "node",
        sa.Column("node_id", Id, primary_key=True),
        sa.Column("seen_at", Instant, nullable=False),
        **TABLE_OPTIONS,
    )


def downgrade() -> None:
    op.drop_table("node")
    op.drop_table("open_stream")
    op.drop_table("wake")
    op.drop_table("incarnation")
    op.drop_table("sample")
    op.drop_table("claim_record")
    op.drop_table("publication_key")
    op.drop_table("idempotency_key")
    op.drop_table("presence")
    op.drop_table("ordering_waiting")
    op.drop_table("ordering_key")
    op.drop_table("inbox")
    op.drop_table("token_key")
    op.drop_table("failed_attempt")
    op.drop_table("credential")
    op.drop_table("granted_scope")
    op.drop_table("principal")
    op.drop_table("project")
    op.drop_table("tenant")
    op.drop_table("event_history")
    op.drop_table("event_failure")
    op.drop_table("event_correlation")
    op.drop_table("archived_event")
    op.drop_table("scheduled_event")
    op.drop_table("event_content")
    op.drop_table("agent_inbox")
