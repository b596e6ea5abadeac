"""Identity: credentials that are keys, logins by device, signed requests, operators, the audit."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from restante.storage.base import TABLE_OPTIONS, Blob, Hash, Id, Instant, ascii_text

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("credential", sa.Column("public_jwk", sa.Text(), nullable=True))
    op.create_table(
        "refresh_family",
        sa.Column("family_id", Id, primary_key=True),
        sa.Column("principal_id", Id, nullable=False),
        sa.Column("tenant_id", Id, nullable=False),
        sa.Column("client", ascii_text(64), nullable=False),
        sa.Column("scopes", sa.Text(), nullable=False),
        sa.Column("approved_by", Id, nullable=True),
        sa.Column("host", sa.String(190), nullable=True),
        sa.Column("user_agent", sa.String(512), nullable=True),
        sa.Column("address", ascii_text(45), nullable=True),
        sa.Column("created_at", Instant, nullable=False),
        sa.Column("refreshed_at", Instant, nullable=False),
        sa.Column("expires_at", Instant, nullable=False),
        **TABLE_OPTIONS,
    )
    op.create_index(op.f("ix_refresh_family_expires_at"), "refresh_family", ["expires_at"])
    op.create_index(op.f("ix_refresh_family_principal_id"), "refresh_family", ["principal_id"])
    op.create_table(
        "refresh_token",
        sa.Column("token_hash", Hash, primary_key=True),
        sa.Column("family_id", Id, nullable=False),
        sa.Column("parent_hash", Hash, nullable=True),
        sa.Column("child_hash", Hash, nullable=True),
        sa.Column("created_at", Instant, nullable=False),
        sa.Column("spent_at", Instant, nullable=True),
        sa.Column("expires_at", Instant, nullable=False),
        sa.CheckConstraint(
            "child_hash IS NULL OR spent_at IS NOT NULL",
            name=op.f("ck_refresh_token_parent_is_spent"),
        ),
        **TABLE_OPTIONS,
    )
    op.create_index(op.f("ix_refresh_token_expires_at"), "refresh_token", ["expires_at"])
    op.create_index(op.f("ix_refresh_token_family_id"), "refresh_token", ["family_id"])
    op.create_table(
        "device_authorization",
        sa.Column("device_code_hash", Hash, primary_key=True),
        sa.Column("user_code_hash", Hash, nullable=False),
        sa.Column("client", ascii_text(64), nullable=False),
        sa.Column("tenant_id", Id, nullable=True),
        sa.Column("principal_id", Id, nullable=True),
        sa.Column("asked_scopes", sa.Text(), nullable=True),
        sa.Column("granted_scopes", sa.Text(), nullable=True),
        sa.Column("host", sa.String(190), nullable=True),
        sa.Column("user_agent", sa.String(512), nullable=True),
        sa.Column("address", ascii_text(45), nullable=True),
        sa.Column("status", ascii_text(8), nullable=False, server_default="pending"),
        sa.Column("decided_by", Id, nullable=True),
        sa.Column("decided_at", Instant, nullable=True),
        sa.Column("interval_seconds", sa.SmallInteger(), nullable=False),
        sa.Column("polled_at", Instant, nullable=True),
        sa.Column("created_at", Instant, nullable=False),
        sa.Column("expires_at", Instant, nullable=False),
        sa.CheckConstraint(
            "status NOT IN ('approved', 'spent') OR principal_id IS NOT NULL",
            name=op.f("ck_device_authorization_approved_has_agent"),
        ),
        sa.CheckConstraint(
            "(status = 'pending') = (decided_at IS NULL)",
            name=op.f("ck_device_authorization_decided_has_instant"),
        ),
        sa.CheckConstraint(
            "status IN ('pending', 'approved', 'denied', 'spent')",
            name=op.f("ck_device_authorization_status"),
        ),
        sa.UniqueConstraint("user_code_hash", name=op.f("uq_device_authorization_user_code_hash")),
        **TABLE_OPTIONS,
    )
    op.create_index(
        op.f("ix_device_authorization_expires_at"), "device_authorization", ["expires_at"]
    )
    op.create_table(
        "used_assertion",
        sa.Column("principal_id", Id, primary_key=True),
        sa.Column("jti_hash", Hash, primary_key=True),
        sa.Column("expires_at", Instant, nullable=False),
        **TABLE_OPTIONS,
    )
    op.create_index(op.f("ix_used_assertion_expires_at"), "used_assertion", ["expires_at"])
    op.create_table(
        "revoked_token",
        sa.Column("principal_id", Id, primary_key=True),
        sa.Column("token_id", ascii_text(32), primary_key=True),
        sa.Column("expires_at", Instant, nullable=False),
        **TABLE_OPTIONS,
    )
    op.create_index(op.f("ix_revoked_token_expires_at"), "revoked_token", ["expires_at"])
    op.create_table(
        "signing_key",
        sa.Column("key_id", Id, primary_key=True),
        sa.Column("principal_id", Id, nullable=False),
        sa.Column("credential_id", Id, nullable=False),
        sa.Column("algorithm", ascii_text(24), nullable=False),
        sa.Column("secret_sealed", Blob, nullable=True),
        sa.Column("public_jwk", sa.Text(), nullable=True),
        sa.Column("created_at", Instant, nullable=False),
        sa.Column("expires_at", Instant, nullable=True),
        sa.Column("revoked_at", Instant, nullable=True),
        sa.CheckConstraint(
            "(secret_sealed IS NULL) <> (public_jwk IS NULL)", name=op.f("ck_signing_key_one_half")
        ),
        **TABLE_OPTIONS,
    )
    op.create_index(op.f("ix_signing_key_credential_id"), "signing_key", ["credential_id"])
    op.create_index(op.f("ix_signing_key_expires_at"), "signing_key", ["expires_at"])
    op.create_index(op.f("ix_signing_key_principal_id"), "signing_key", ["principal_id"])
    op.create_index(op.f("ix_signing_key_revoked_at"), "signing_key", ["revoked_at"])
    op.create_table(
        "signature_nonce",
        sa.Column("key_id", Id, primary_key=True),
        sa.Column("nonce_hash", Hash, primary_key=True),
        sa.Column("expires_at", Instant, nullable=False),
        **TABLE_OPTIONS,
    )
    op.create_index(op.f("ix_signature_nonce_expires_at"), "signature_nonce", ["expires_at"])
    op.create_table(
        "operator",
        sa.Column("operator_id", Id, primary_key=True),
        sa.Column("tenant_id", Id, nullable=True),
        sa.Column("email", sa.String(254), nullable=False),
        sa.Column("name", sa.String(190), nullable=True),
        sa.Column("role", ascii_text(16), nullable=False),
        sa.Column("status", ascii_text(8), nullable=False, server_default="invited"),
        sa.Column("oidc_issuer", sa.String(255), nullable=True),
        sa.Column("oidc_subject", sa.String(255), nullable=True),
        sa.Column("oidc_hash", Hash, nullable=True),
        sa.Column("invited_by", Id, nullable=True),
        sa.Column("created_at", Instant, nullable=False),
        sa.Column("signed_in_at", Instant, nullable=True),
        sa.CheckConstraint(
            "role IN ('operator', 'tenant_admin', 'platform_admin')", name=op.f("ck_operator_role")
        ),
        sa.CheckConstraint(
            "status IN ('invited', 'active', 'disabled')", name=op.f("ck_operator_status")
        ),
        sa.CheckConstraint(
            "role = 'platform_admin' OR tenant_id IS NOT NULL", name=op.f("ck_operator_tenant")
        ),
        sa.UniqueConstraint("tenant_id", "email", name=op.f("uq_operator_tenant_id_email")),
        sa.UniqueConstraint("tenant_id", "oidc_hash", name=op.f("uq_operator_tenant_id_oidc_hash")),
        **TABLE_OPTIONS,
    )
    op.create_index(op.f("ix_operator_email"), "operator", ["email"])
    op.create_index(op.f("ix_operator_oidc_hash"), "operator", ["oidc_hash"])
    op.create_table(
        "sign_in_link",
        sa.Column("link_hash", Hash, primary_key=True),
        sa.Column("purpose", ascii_text(8), nullable=False),
        sa.Column("operator_id", Id, nullable=False),
        sa.Column("created_at", Instant, nullable=False),
        sa.Column("expires_at", Instant, nullable=False),
        sa.Column("spent_at", Instant, nullable=True),
        sa.CheckConstraint(
            "purpose IN ('invite', 'sign_in')", name=op.f("ck_sign_in_link_purpose")
        ),
        **TABLE_OPTIONS,
    )
    op.create_index(op.f("ix_sign_in_link_expires_at"), "sign_in_link", ["expires_at"])
    op.create_index(op.f("ix_sign_in_link_operator_id"), "sign_in_link", ["operator_id"])
    op.create_table(
        "oidc_transaction",
        sa.Column("state_hash", Hash, primary_key=True),
        sa.Column("browser_hash", Hash, nullable=False),
        sa.Column("nonce_hash", Hash, nullable=False),
        sa.Column("verifier_sealed", Blob, nullable=False),
        sa.Column("return_path", sa.String(512), nullable=False),
        sa.Column("link_hash", Hash, nullable=True),
        sa.Column("session_id", Id, nullable=True),
        sa.Column("created_at", Instant, nullable=False),
        sa.Column("expires_at", Instant, nullable=False),
        **TABLE_OPTIONS,
    )
    op.create_index(op.f("ix_oidc_transaction_expires_at"), "oidc_transaction", ["expires_at"])
    op.create_table(
        "operator_session",
        sa.Column("session_id", Id, primary_key=True),
        sa.Column("token_hash", Hash, nullable=False),
        sa.Column("operator_id", Id, nullable=False),
        sa.Column("method", ascii_text(8), nullable=False),
        sa.Column("created_at", Instant, nullable=False),
        sa.Column("seen_at", Instant, nullable=False),
        sa.Column("expires_at", Instant, nullable=False),
        sa.Column("sudo_at", Instant, nullable=True),
        sa.Column("address", ascii_text(45), nullable=True),
        sa.Column("user_agent", sa.String(512), nullable=True),
        sa.CheckConstraint("method IN ('link', 'oidc')", name=op.f("ck_operator_session_method")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_operator_session_token_hash")),
        **TABLE_OPTIONS,
    )
    op.create_index(op.f("ix_operator_session_expires_at"), "operator_session", ["expires_at"])
    op.create_index(op.f("ix_operator_session_operator_id"), "operator_session", ["operator_id"])
    op.create_table(
        "audit_chain",
        sa.Column("chain_id", Id, primary_key=True),
        sa.Column("last_number", sa.BigInteger(), nullable=False),
        sa.Column("last_hash", Hash, nullable=False),
        **TABLE_OPTIONS,
    )
    op.create_table(
        "audit_entry",
        sa.Column("chain_id", Id, primary_key=True),
        sa.Column("number", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("entry_id", Id, nullable=False),
        sa.Column("at", Instant, nullable=False),
        sa.Column("actor_kind", ascii_text(16), nullable=False),
        sa.Column("actor_id", sa.String(190), nullable=True),
        sa.Column("action", ascii_text(40), nullable=False),
        sa.Column("target", sa.String(190), nullable=True),
        sa.Column("outcome", ascii_text(8), nullable=False),
        sa.Column("reason", sa.String(500), nullable=True),
        sa.Column("address", ascii_text(45), nullable=True),
        sa.Column("request_id", ascii_text(128), nullable=True),
        sa.Column("previous_hash", Hash, nullable=False),
        sa.Column("entry_hash", Hash, nullable=False),
        sa.UniqueConstraint("entry_id", name=op.f("uq_audit_entry_entry_id")),
        **TABLE_OPTIONS,
    )
    op.create_index(op.f("audit_of_action"), "audit_entry", ["chain_id", "action", "number"])
    op.create_index(op.f("audit_of_target"), "audit_entry", ["chain_id", "target", "number"])


def downgrade() -> None:
    op.drop_table("audit_entry")
    op.drop_table("audit_chain")
    op.drop_table("operator_session")
    op.drop_table("oidc_transaction")
    op.drop_table("sign_in_link")
    op.drop_table("operator")
    op.drop_table("signature_nonce")
    op.drop_table("signing_key")
    op.drop_table("revoked_token")
    op.drop_table("used_assertion")
    op.drop_table("device_authorization")
    op.drop_table("refresh_token")
    op.drop_table("refresh_family")
    op.drop_column("credential", "public_jwk")
