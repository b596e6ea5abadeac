"""Keys that agents sign requests with, and the nonces they have used (RFC 9421)."""

from __future__ import annotations

from sqlalchemy import CheckConstraint, Column, Index, Table, Text

from restante.storage.base import TABLE_OPTIONS, Blob, Hash, Id, Instant, ascii_text, metadata

signing_key = Table(
    "signing_key",
    metadata,
    Column("key_id", Id, primary_key=True),
    Column("principal_id", Id, nullable=False),
    Column("credential_id", Id, nullable=False),  # it dies with it
    Column("algorithm", ascii_text(24), nullable=False),
    Column("secret_sealed", Blob, nullable=True),  # hmac-sha256
    Column("public_jwk", Text, nullable=True),  # any other
    Column("created_at", Instant, nullable=False),
    Column("expires_at", Instant, nullable=True),  # null: until it is revoked
    Column("revoked_at", Instant, nullable=True),
    CheckConstraint("(secret_sealed IS NULL) <> (public_jwk IS NULL)", name="one_half"),
    Index(None, "principal_id"),
    Index(None, "credential_id"),
    Index(None, "expires_at"),
    Index(None, "revoked_at"),
    **TABLE_OPTIONS,
)

signature_nonce = Table(
    "signature_nonce",
    metadata,
    Column("key_id", Id, primary_key=True),
    Column("nonce_hash", Hash, primary_key=True),
    Column("expires_at", Instant, nullable=False),  # of the signature, and the skew
    Index(None, "expires_at"),
    **TABLE_OPTIONS,
)
