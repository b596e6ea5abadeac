"""Refresh tokens rotate (RFC 9700, section 4.14.2): each is good once, and its family ends with a thief.

Within ten seconds the newest spent one, whose child nobody has used, is answered with that child
again: an answer may be lost, and two processes of an agent may refresh at one instant.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import insert, select, update
from sqlalchemy.orm import Session

from restante.audit.actions import Action, Outcome
from restante.audit.chain import record
from restante.audit.entries import Entry, Origin
from restante.identity.grants import grants_of
from restante.identity.logins import IDLE_LIFETIME, RefreshTokens, hash_of
from restante.identity.projects import projects_of
from restante.identity.requested_scopes import InvalidScope, still_given
from restante.identity.scopes import Scope, parse_scope
from restante.identity.token_refusals import record_refusal
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, encode_id
from restante.storage.tables.identity import credential, principal
from restante.storage.tables.logins import refresh_family, refresh_token

GRACE = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What a refresh gives."""

    principal_id: bytes
    tenant_id: bytes
    family_id: bytes
    scopes: frozenset[Scope]
    refresh_token: str = field(repr=False)


def refresh(
    session: Session,
    presented: str,
    *,
    client: str,
    asked: str | None,
    tokens: RefreshTokens,
    by: Origin,
) -> Refreshed | None:
    """The child of the token presented; None where it is worth nothing, and commit then too.

    Whatever is neither the unspent token nor within its grace revokes the family, with an audit
    entry `refresh.reuse`; what else is worth nothing leaves `token.refuse`. Raises InvalidScope (more
    than the first grant, or nothing but what was withdrawn since) without spending anything.
    """
    connection = session.connection()
    presented_hash = hash_of(presented)
    family = _locked_family(session, presented_hash)
    if family is None:
        record_refusal(session, client, "an unknown refresh token", by=by)
        return None
    token = connection.execute(
        select(refresh_token).where(refresh_token.c.token_hash == presented_hash)
    ).one()
    now = database_now(session)
    target = encode_id(Prefix.AGENT, family.principal_id)
    if family.revoked_at is not None or family.expires_at <= now:
        record_refusal(session, target, "a refresh token of a login that has ended", by=by)
        return None
    if family.client != client or (
        token.spent_at is not None and not _is_late(session, token, now)
    ):
        kill_family(session, family, now=now)
        why = "another client" if family.client != client else "a spent token"
        record(
            session,
            Entry(family.tenant_id, by, Action.REFRESH_REUSE, target, Outcome.REFUSED, why),
        )
        return None
    if token.expires_at <= now:
        record_refusal(session, target, "a refresh token that is too old", by=by)
        return None
    is_active = family.status == "active"
    scopes = _scopes(session, family, asked) if is_active else frozenset()
    if not scopes and is_active and asked is not None and _scopes(session, family, None):
        raise InvalidScope(
            "Nothing that was asked for is granted any more; without a scope the rest is."
        )
    if not scopes:
        why = "nothing of the login is left" if is_active else "the agent is not active"
        record_refusal(session, target, f"a refresh token: {why}", by=by)
        return None
    if token.spent_at is None:
        child = _spend(session, token, presented, tokens, family=family, now=now)
    else:
        child = tokens.child_again(presented, token.child_hash)
    if child is None:
        return None
    return Refreshed(family.principal_id, family.tenant_id, family.family_id, scopes, child)


def kill_family(session: Session, family: Any, *, now: datetime) -> None:
    """End a family: its credential is revoked, and with it all that was got by it."""
    session.connection().execute(
        update(credential)
        .where(credential.c.credential_id == family.family_id, credential.c.revoked_at.is_(None))
        .values(revoked_at=now)
    )


def family_of(session: Session, presented: str) -> Any:
    """The family of a refresh token with its credential locked; None of an unknown one."""
    return _locked_family(session, hash_of(presented))


def _locked_family(session: Session, token_hash: bytes) -> Any:
    """Whoever refreshes first goes first; the others wait here and see what he did."""
    connection = session.connection()
    family_id = connection.execute(
        select(refresh_token.c.family_id).where(refresh_token.c.token_hash == token_hash)
    ).scalar()
    if family_id is None:
        return None
    revoked = connection.execute(
        select(credential.c.revoked_at)
        .where(credential.c.credential_id == family_id)
        .with_for_update()
    ).one_or_none()
    if revoked is None:
        return None
    return connection.execute(
        select(
            refresh_family.c.family_id,
            refresh_family.c.principal_id,
            refresh_family.c.tenant_id,
            refresh_family.c.client,
            refresh_family.c.scopes,
            refresh_family.c.expires_at,
            credential.c.revoked_at,
            principal.c.status,
        )
        .join(credential, credential.c.credential_id == refresh_family.c.family_id)
        .join(principal, principal.c.principal_id == refresh_family.c.principal_id)
        .where(refresh_family.c.family_id == family_id)
    ).one_or_none()


def _is_late(session: Session, token: Any, now: datetime) -> bool:
    """Whether it is the newest spent one of its family, spent a moment ago."""
    if token.child_hash is None or now - token.spent_at > GRACE:
        return False
    child = session.connection().execute(
        select(refresh_token.c.token_hash).where(
            refresh_token.c.token_hash == token.child_hash, refresh_token.c.spent_at.is_(None)
        )
    )
    return child.one_or_none() is not None


def _scopes(session: Session, family: Any, asked: str | None) -> frozenset[Scope]:
    cap = {scope for text in family.scopes.split() if (scope := parse_scope(text)) is not None}
    wanted = cap if asked is None or not asked.strip() else _wanted(asked, cap)
    return still_given(
        wanted,
        grants=grants_of(session, family.principal_id),
        slugs=projects_of(session, family.tenant_id),
    )


def _wanted(asked: str, cap: set[Scope]) -> set[Scope]:
    found = {parse_scope(text) for text in asked.split(" ")}
    if not found <= cap:
        raise InvalidScope("A scope that was asked for is not that of the login.")
    return {scope for scope in found if scope is not None}


def _spend(
    session: Session,
    token: Any,
    presented: str,
    tokens: RefreshTokens,
    *,
    family: Any,
    now: datetime,
) -> str | None:
    connection = session.connection()
    child = tokens.child(presented)
    spent = connection.execute(
        update(refresh_token)
        .where(refresh_token.c.token_hash == token.token_hash, refresh_token.c.spent_at.is_(None))
        .values(spent_at=now, child_hash=hash_of(child))
    )
    if not spent.rowcount:
        return None
    connection.execute(
        insert(refresh_token).values(
            token_hash=hash_of(child),
            family_id=family.family_id,
            parent_hash=token.token_hash,
            created_at=now,
            expires_at=min(now + IDLE_LIFETIME, family.expires_at),
        )
    )
    connection.execute(
        update(refresh_family)
        .where(refresh_family.c.family_id == family.family_id)
        .values(refreshed_at=now)
    )
    return child
