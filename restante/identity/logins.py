"""Logins of agents without a secret: families of refresh tokens that begin with an approved device.

The family is a credential too: revoking that one ends its refresh tokens and, within a second and on
every node, every access token that was got with them.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import insert
from sqlalchemy.orm import Session

from restante.identity.scopes import Scope
from restante.identity.sealing import derive
from restante.storage.ids import new_id
from restante.storage.tables.identity import credential
from restante.storage.tables.logins import refresh_family, refresh_token

DEVICE = "device"
FAMILY_LIFETIME = timedelta(days=90)
"""From the approval on, however often it is refreshed."""
IDLE_LIFETIME = timedelta(days=30)
"""Of one refresh token that nobody uses."""
_PREFIX = "rstr_"  # so that scanners of repositories know one when they see it


@dataclass(frozen=True, slots=True)
class Approved:
    """A login that an operator has approved."""

    principal_id: bytes
    tenant_id: bytes
    client: str
    scopes: Collection[Scope]
    approved_by: bytes | None = None
    host: str | None = None
    user_agent: str | None = None
    address: str | None = None


class RefreshTokens:
    """Makes them: the child of a token can be made again from it, so hashes are all that is kept."""

    def __init__(self, secret_keys: Sequence[str]) -> None:
        self._keys = [derive(key, "refresh-tokens") for key in secret_keys]

    def child(self, parent: str) -> str:
        """The token that follows this one."""
        return _child(self._keys[0], parent)

    def child_again(self, parent: str, child_hash: bytes) -> str | None:
        """The one that followed it, whichever secret key it was made with; None: of one that is gone."""
        for key in self._keys:
            made = _child(key, parent)
            if hmac.compare_digest(hash_of(made), child_hash):
                return made
        return None


def begin_family(session: Session, login: Approved, *, now: datetime) -> tuple[bytes, str]:
    """A new family, with the id of its credential and its first refresh token."""
    connection = session.connection()
    family_id = new_id()
    connection.execute(
        insert(credential).values(
            credential_id=family_id,
            principal_id=login.principal_id,
            kind=DEVICE,
            created_at=now,
        )
    )
    connection.execute(
        insert(refresh_family).values(
            family_id=family_id,
            principal_id=login.principal_id,
            tenant_id=login.tenant_id,
            client=login.client,
            scopes=" ".join(sorted(map(str, login.scopes))),
            approved_by=login.approved_by,
            host=login.host,
            user_agent=login.user_agent,
            address=login.address,
            created_at=now,
            refreshed_at=now,
            expires_at=now + FAMILY_LIFETIME,
        )
    )
    first = _PREFIX + secrets.token_urlsafe(32)
    connection.execute(
        insert(refresh_token).values(
            token_hash=hash_of(first),
            family_id=family_id,
            created_at=now,
            expires_at=now + IDLE_LIFETIME,
        )
    )
    return family_id, first


def hash_of(secret: str) -> bytes:
    """What is kept of a refresh token or a device code: 256 random bits need no stretching."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def _child(key: bytes, parent: str) -> str:
    made = hmac.digest(key, parent.encode("utf-8", "surrogatepass"), "sha256")
    return _PREFIX + base64.urlsafe_b64encode(made).rstrip(b"=").decode()
