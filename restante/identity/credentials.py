"""Client secrets: 256 random bits, kept as SHA-256. Nothing to stretch: nobody can try them all."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from restante.identity.principal import PrincipalKind
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, decode_id, new_id
from restante.storage.tables.identity import credential, principal

CLIENT_SECRET = "client_secret"
_SECRET_PREFIX = "rst_"  # so that scanners of repositories know one when they see it
_NOTHING = bytes(32)


@dataclass(frozen=True, slots=True)
class Client:
    """A client that has proved who it is, and by which credential."""

    principal_id: bytes
    tenant_id: bytes
    kind: PrincipalKind
    credential_id: bytes


def add_client_secret(
    session: Session, principal_id: bytes, *, credential_id: bytes | None = None
) -> str:
    """A new secret of the principal. This is the only time it can be read."""
    secret = _SECRET_PREFIX + secrets.token_urlsafe(32)
    session.connection().execute(
        insert(credential).values(
            credential_id=credential_id or new_id(),
            principal_id=principal_id,
            kind=CLIENT_SECRET,
            secret_hash=_hashed(secret),
            created_at=database_now(session),
        )
    )
    return secret


def live_credentials(
    session: Session, kind: PrincipalKind, principal_id: bytes, *, of_kind: str
) -> Sequence[Any]:
    """The credentials of a kind that an active client may prove itself by: ids, secret_hash, public_jwk."""
    return (
        session.connection()
        .execute(
            select(
                principal.c.principal_id,
                principal.c.tenant_id,
                credential.c.credential_id,
                credential.c.secret_hash,
                credential.c.public_jwk,
            )
            .join(credential, credential.c.principal_id == principal.c.principal_id)
            .where(
                principal.c.principal_id == principal_id,
                principal.c.kind == kind.value,
                principal.c.status == "active",
                credential.c.kind == of_kind,
                credential.c.revoked_at.is_(None),
            )
        )
        .all()
    )


def authenticate_client(session: Session, client_id: str, secret: str) -> Client | None:
    """The active client of that id, if the secret is one of its own.

    None alike for an unknown or disabled client and for a wrong or revoked secret, after the same
    statements and a comparison in constant time.
    """
    kind, raw = named_client(client_id)
    rows = live_credentials(session, kind, raw, of_kind=CLIENT_SECRET)
    hashed = _hashed(secret)
    hmac.compare_digest(hashed, _NOTHING)
    found = None
    for row in rows:
        if hmac.compare_digest(hashed, row.secret_hash):
            found = Client(row.principal_id, row.tenant_id, kind, row.credential_id)
    return found


def named_client(client_id: str) -> tuple[PrincipalKind, bytes]:
    """The kind and id that a client_id names; an id that nobody has where it names none."""
    for kind, prefix in (
        (PrincipalKind.AGENT, Prefix.AGENT),
        (PrincipalKind.SERVICE, Prefix.SERVICE),
    ):
        raw = decode_id(prefix, client_id)
        if raw is not None:
            return kind, raw
    return PrincipalKind.AGENT, bytes(16)


def _hashed(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
