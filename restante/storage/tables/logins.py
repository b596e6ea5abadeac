"""What outlives one request of a login: device codes, refresh tokens, spent assertions, revoked tokens."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, Index, SmallInteger, String, Table, Text

from restante.storage.base import TABLE_OPTIONS, Hash, Id, Instant, ascii_text, metadata

# A login by device code, and all refresh tokens that follow from it. Its id is that of a credential
# (kind `device`) too: revoking that one ends the family and every access token got with it.
refresh_family = Table(
    "refresh_family",
    metadata,
    Column("family_id", Id, primary_key=True),  # = credential.credential_id
    Column("principal_id", Id, nullable=False),
    Column("tenant_id", Id, nullable=False),
    Column("client", ascii_text(64), nullable=False),  # the client_id that asked
    Column("scopes", Text, nullable=False),  # granted at first: the cap of every refresh
    Column("approved_by", Id, nullable=True),  # an operator
    Column("host", String(190), nullable=True),
    Column("user_agent", String(512), nullable=True),
    Column("address", ascii_text(45), nullable=True),
    Column("created_at", Instant, nullable=False),
    Column("refreshed_at", Instant, nullable=False),
    Column("expires_at", Instant, nullable=False),  # however fresh its rotations are
    Index(None, "principal_id"),
    Index(None, "expires_at"),
    **TABLE_OPTIONS,
)

# Spent by compare-and-swap (spent_at IS NULL). The newest spent one is the one whose child is not.
refresh_token = Table(
    "refresh_token",
    metadata,
    Column("token_hash", Hash, primary_key=True),
    Column("family_id", Id, nullable=False),
    Column("parent_hash", Hash, nullable=True),
    Column("child_hash", Hash, nullable=True),
    Column("created_at", Instant, nullable=False),
    Column("spent_at", Instant, nullable=True),
    Column("expires_at", Instant, nullable=False),
    CheckConstraint("child_hash IS NULL OR spent_at IS NOT NULL", name="parent_is_spent"),
    Index(None, "family_id"),
    Index(None, "expires_at"),
    **TABLE_OPTIONS,
)

# RFC 8628. Spent by compare-and-swap on the status.
device_authorization = Table(
    "device_authorization",
    metadata,
    Column("device_code_hash", Hash, primary_key=True),
    # keyed: a user code is short enough to be found from a plain hash
    Column("user_code_hash", Hash, nullable=False, unique=True),
    Column("client", ascii_text(64), nullable=False),
    # the agent asked for, or the one the operator picked
    Column("tenant_id", Id, nullable=True),
    Column("principal_id", Id, nullable=True),
    Column("asked_scopes", Text, nullable=True),
    Column("granted_scopes", Text, nullable=True),
    Column("host", String(190), nullable=True),
    Column("user_agent", String(512), nullable=True),
    Column("address", ascii_text(45), nullable=True),
    Column("status", ascii_text(8), nullable=False, server_default="pending"),
    Column("decided_by", Id, nullable=True),  # an operator
    Column("decided_at", Instant, nullable=True),
    Column("interval_seconds", SmallInteger, nullable=False),
    Column("polled_at", Instant, nullable=True),
    Column("created_at", Instant, nullable=False),
    Column("expires_at", Instant, nullable=False),
    CheckConstraint("status IN ('pending', 'approved', 'denied', 'spent')", name="status"),
    CheckConstraint("(status = 'pending') = (decided_at IS NULL)", name="decided_has_instant"),
    CheckConstraint(
        "status NOT IN ('approved', 'spent') OR principal_id IS NOT NULL", name="approved_has_agent"
    ),
    Index(None, "expires_at"),
    **TABLE_OPTIONS,
)

# `jti` of a client assertion (RFC 7523): good once.
used_assertion = Table(
    "used_assertion",
    metadata,
    Column("principal_id", Id, primary_key=True),
    Column("jti_hash", Hash, primary_key=True),
    Column("expires_at", Instant, nullable=False),
    Index(None, "expires_at"),
    **TABLE_OPTIONS,
)

# An access token that was revoked alone (RFC 7009), until it would have ended anyway.
revoked_token = Table(
    "revoked_token",
    metadata,
    Column("principal_id", Id, primary_key=True),
    Column("token_id", ascii_text(32), primary_key=True),  # its `jti`
    Column("expires_at", Instant, nullable=False),
    Index(None, "expires_at"),
    **TABLE_OPTIONS,
)
