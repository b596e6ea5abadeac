"""Who there is: tenants, their projects, agents and services, what these may do and how they prove it."""

from __future__ import annotations

from sqlalchemy import Boolean, Column, Index, Integer, String, Table, Text, UniqueConstraint

from restante.storage.base import TABLE_OPTIONS, Blob, Hash, Id, Instant, ascii_text, metadata

tenant = Table(
    "tenant",
    metadata,
    Column("tenant_id", Id, primary_key=True),
    Column("name", String(190), nullable=False, unique=True),
    Column("require_signatures", Boolean, nullable=False),
    Column("allowed_origins", Text, nullable=True),
    Column("max_pending", Integer, nullable=True),
    Column("created_at", Instant, nullable=False),
    # JSON: what operators are not shown of payloads (redaction.py)
    Column("redacted_paths", Text, nullable=True),
    **TABLE_OPTIONS,
)

project = Table(
    "project",
    metadata,
    Column("project_id", Id, primary_key=True),
    Column("tenant_id", Id, nullable=False),
    Column("slug", ascii_text(64), nullable=False),
    Column("on_quarantine", ascii_text(8), nullable=False, server_default="skip"),
    Column("created_at", Instant, nullable=False),
    # what nobody has read for so long is told to an agent, or without one to the operators
    Column("unread_after_seconds", Integer, nullable=True),
    Column("unread_escalate_to", Id, nullable=True),
    UniqueConstraint("tenant_id", "slug"),
    **TABLE_OPTIONS,
)

principal = Table(
    "principal",
    metadata,
    Column("principal_id", Id, primary_key=True),
    Column("tenant_id", Id, nullable=False),
    Column("kind", ascii_text(8), nullable=False),  # agent | service
    Column("name", String(190), nullable=False),
    Column("status", ascii_text(8), nullable=False, server_default="active"),
    Column("created_at", Instant, nullable=False),
    # agents only
    Column("capabilities", Text, nullable=True),
    Column("paused", Boolean, nullable=False, server_default="0"),
    Column("max_in_flight", Integer, nullable=True),
    Column("max_pending", Integer, nullable=True),
    UniqueConstraint("tenant_id", "kind", "name"),
    # the few that operators ask for: those with a limit of their own, those that do not work
    Index(None, "tenant_id", "max_pending"),
    Index(None, "tenant_id", "kind", "status", "paused"),
    **TABLE_OPTIONS,
)

granted_scope = Table(
    "granted_scope",
    metadata,
    Column("principal_id", Id, primary_key=True),
    Column("scope", ascii_text(96), primary_key=True),
    **TABLE_OPTIONS,
)

scope_template = Table(
    "scope_template",
    metadata,
    Column("template_id", Id, primary_key=True),
    Column("tenant_id", Id, nullable=False),
    Column("name", String(190), nullable=False),
    # JSON: [[project, `*` or a pattern of projects, [verb, …]], …]
    Column("rules", Text, nullable=False),
    Column("created_by", String(190), nullable=False),
    Column("created_at", Instant, nullable=False),
    UniqueConstraint("tenant_id", "name"),
    **TABLE_OPTIONS,
)

credential = Table(
    "credential",
    metadata,
    Column("credential_id", Id, primary_key=True),
    Column("principal_id", Id, nullable=False),
    Column("kind", ascii_text(16), nullable=False),  # client_secret | public_jwk | device
    Column("secret_hash", Hash, nullable=True),
    Column("public_jwk", Text, nullable=True),
    Column("created_at", Instant, nullable=False),
    Column("revoked_at", Instant, nullable=True),
    Index(None, "principal_id"),
    **TABLE_OPTIONS,
)

# Failed authentications of the last minute, by what they are counted for (failed_attempts.py).
failed_attempt = Table(
    "failed_attempt",
    metadata,
    Column("subject_hash", Hash, primary_key=True),
    Column("failures", Integer, nullable=False),
    Column("window_began_at", Instant, nullable=False),
    Index(None, "window_began_at"),
    **TABLE_OPTIONS,
)

# The server's own keys: those that sign access tokens, and of what else it signs (server_keys.py).
token_key = Table(
    "token_key",
    metadata,
    Column("kid", ascii_text(64), primary_key=True),
    Column("algorithm", ascii_text(16), nullable=False),
    Column("public_jwk", Text, nullable=False),
    Column("private_sealed", Blob, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("signs_until", Instant, nullable=True),
    Column("verifies_until", Instant, nullable=True),
    Column("purpose", ascii_text(8), nullable=False, server_default="token"),
    **TABLE_OPTIONS,
)
