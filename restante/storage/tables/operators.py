"""Operators: the people of the console, how they come in, and their sessions."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, Index, String, Table, UniqueConstraint

from restante.storage.base import TABLE_OPTIONS, Blob, Hash, Id, Instant, ascii_text, metadata

operator = Table(
    "operator",
    metadata,
    Column("operator_id", Id, primary_key=True),
    Column("tenant_id", Id, nullable=True),  # null: of the platform
    Column("email", String(254), nullable=False),  # in lower case
    Column("name", String(190), nullable=True),
    Column("role", ascii_text(16), nullable=False),  # roles.Role
    Column("status", ascii_text(8), nullable=False, server_default="invited"),
    # once bound: the person is this subject of this issuer, whatever the e-mail says later
    Column("oidc_issuer", String(255), nullable=True),
    Column("oidc_subject", String(255), nullable=True),
    Column("oidc_hash", Hash, nullable=True),  # of issuer, NUL, subject
    Column("invited_by", Id, nullable=True),
    Column("created_at", Instant, nullable=False),
    Column("signed_in_at", Instant, nullable=True),
    CheckConstraint("role IN ('operator', 'tenant_admin', 'platform_admin')", name="role"),
    CheckConstraint("status IN ('invited', 'active', 'disabled')", name="status"),
    CheckConstraint("role = 'platform_admin' OR tenant_id IS NOT NULL", name="tenant"),
    UniqueConstraint("tenant_id", "email"),
    UniqueConstraint("tenant_id", "oidc_hash"),
    Index(None, "email"),
    Index(None, "oidc_hash"),
    **TABLE_OPTIONS,
)

# An invitation or a sign-in link: good once. Spent by compare-and-swap (spent_at IS NULL).
sign_in_link = Table(
    "sign_in_link",
    metadata,
    Column("link_hash", Hash, primary_key=True),
    Column("purpose", ascii_text(8), nullable=False),
    Column("operator_id", Id, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("expires_at", Instant, nullable=False),
    Column("spent_at", Instant, nullable=True),
    CheckConstraint("purpose IN ('invite', 'sign_in')", name="purpose"),
    Index(None, "operator_id"),
    Index(None, "expires_at"),
    **TABLE_OPTIONS,
)

# A sign-in that is at the identity provider: its row goes when it comes back.
oidc_transaction = Table(
    "oidc_transaction",
    metadata,
    Column("state_hash", Hash, primary_key=True),
    Column("browser_hash", Hash, nullable=False),  # of a cookie: who comes back is who left
    Column("nonce_hash", Hash, nullable=False),
    Column("verifier_sealed", Blob, nullable=False),  # PKCE
    Column("return_path", String(512), nullable=False),
    Column("link_hash", Hash, nullable=True),  # the invitation it takes up
    Column("session_id", Id, nullable=True),  # the session that proves its operator again
    Column("created_at", Instant, nullable=False),
    Column("expires_at", Instant, nullable=False),
    Index(None, "expires_at"),
    **TABLE_OPTIONS,
)

# One that is signed out or revoked has no row any more.
operator_session = Table(
    "operator_session",
    metadata,
    Column("session_id", Id, primary_key=True),  # its name in lists
    Column("token_hash", Hash, nullable=False, unique=True),  # of the cookie's value
    Column("operator_id", Id, nullable=False),
    Column("method", ascii_text(8), nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("seen_at", Instant, nullable=False),
    Column("expires_at", Instant, nullable=False),  # idle or too old, whichever comes first
    Column("sudo_at", Instant, nullable=True),  # proved anew who he is
    Column("address", ascii_text(45), nullable=True),
    Column("user_agent", String(512), nullable=True),
    CheckConstraint("method IN ('link', 'oidc')", name="method"),
    Index(None, "operator_id"),
    Index(None, "expires_at"),
    **TABLE_OPTIONS,
)

# What was typed into a form that is not carried out yet: of the session alone, and for half an hour.
form_draft = Table(
    "form_draft",
    metadata,
    Column("draft_id", Id, primary_key=True),
    Column("session_id", Id, nullable=False),  # or its operator's id, where that was over
    Column("action", String(190), nullable=False),  # where the form goes
    Column("return_path", String(190), nullable=True),  # the page that it was on
    Column("fields", Blob, nullable=False),  # [[name, text], …] as JSON
    Column("expires_at", Instant, nullable=False),
    Index(None, "session_id"),
    Index(None, "expires_at"),
    **TABLE_OPTIONS,
)
