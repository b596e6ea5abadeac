"""Tokens that clients ask about or end: which are whose (RFC 7009, section 2.1; RFC 7662, section 2.1)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from restante.errors import Unauthenticated
from restante.identity.credentials import Client
from restante.identity.logins import hash_of
from restante.identity.token_keys import TokenKeys
from restante.identity.tokens import Claims, verify
from restante.storage.clock import database_now
from restante.storage.tables.identity import credential
from restante.storage.tables.logins import refresh_family, refresh_token


@dataclass(frozen=True, slots=True)
class Holder:
    """Who asks: a client by its client_id. `proved` None: it is public."""

    name: str
    proved: Client | None


@dataclass(frozen=True, slots=True)
class Refresh:
    """A refresh token; `family` is the row of its login."""

    family: Any
    created_at: datetime
    expires_at: datetime
    spent: bool


def held_token(
    session: Session, token: str, *, holder: Holder, keys: TokenKeys
) -> Claims | Refresh | None:
    """The token, if it is one of the holder's; None alike for another's and for none at all.

    A client that has proved itself holds whatever was got for its principal, a public one what was
    got by logins under its name. An access token is good by itself: signature, key, time.
    """
    refresh = _refresh(session, token)
    if refresh is not None:
        return refresh if _holds(holder, refresh.family.principal_id, refresh.family) else None
    now = database_now(session).replace(tzinfo=UTC).timestamp()
    try:
        claims = verify(token, issuer=keys.issuer, keys=keys.verifying(session), now=now)
    except Unauthenticated:
        return None
    return claims if holds(session, holder, claims) else None


def holds(session: Session, holder: Holder, claims: Claims) -> bool:
    """Whether what these claims were got for is the holder's."""
    return _holds(holder, claims.principal_id, _family(session, claims.credential_id))


def _holds(holder: Holder, principal_id: bytes, family: Any) -> bool:
    if holder.proved is not None:
        return holder.proved.principal_id == principal_id
    return family is not None and bool(family.client == holder.name)


def _refresh(session: Session, token: str) -> Refresh | None:
    row = (
        session.connection()
        .execute(
            select(
                refresh_token.c.family_id,
                refresh_token.c.created_at,
                refresh_token.c.expires_at,
                refresh_token.c.spent_at,
            ).where(refresh_token.c.token_hash == hash_of(token))
        )
        .one_or_none()
    )
    family = None if row is None else _family(session, row.family_id)
    if row is None or family is None:
        return None
    return Refresh(family, row.created_at, row.expires_at, row.spent_at is not None)


def _family(session: Session, family_id: bytes) -> Any:
    return (
        session.connection()
        .execute(
            select(
                refresh_family.c.family_id,
                refresh_family.c.principal_id,
                refresh_family.c.tenant_id,
                refresh_family.c.client,
                refresh_family.c.scopes,
                refresh_family.c.expires_at,
                credential.c.revoked_at,
            )
            .join(credential, credential.c.credential_id == refresh_family.c.family_id)
            .where(refresh_family.c.family_id == family_id)
        )
        .one_or_none()
    )
