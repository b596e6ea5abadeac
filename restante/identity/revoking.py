"""A client gives a token back (RFC 7009): an access token ends alone, a refresh token with its login.

A token for push notifications of A2A, which lends a right of its own, ends alone too.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from sqlalchemy import insert, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from restante.audit.actions import Action
from restante.audit.chain import record
from restante.audit.entries import Entry, Origin
from restante.identity.held_tokens import Holder, Refresh, held_token, holds
from restante.identity.principal import PrincipalKind
from restante.identity.refreshing import kill_family
from restante.identity.token_keys import TokenKeys
from restante.identity.tokens import Claims
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, encode_id
from restante.storage.tables.identity import principal
from restante.storage.tables.logins import revoked_token
from restante.storage.transaction import Repeat


def revoke(
    session: Session,
    token: str,
    *,
    holder: Holder,
    keys: TokenKeys,
    lender: Callable[[str, float], Claims | None],
    by: Origin,
) -> bytes | None:
    """End one of the holder's tokens: the principal whose it was; None: there is no such token.

    `lender`: whose right a token for A2A notifications lends, by it and the time in seconds since 1970.
    Repeating it changes nothing and leaves no second entry.
    """
    found: Claims | Refresh | None = held_token(session, token, holder=holder, keys=keys)
    what = "an access token"
    if found is None:
        found, what = _lent(session, token, holder, lender), "a token for A2A notifications"
    if found is None:
        return None
    if isinstance(found, Refresh):
        family = found.family
        if family.revoked_at is None:
            kill_family(session, family, now=database_now(session))
            target = encode_id(Prefix.AGENT, family.principal_id)
            _record(session, family.tenant_id, target, "a login, by its refresh token", by=by)
        return bytes(family.principal_id)
    if _revoke_alone(session, found):
        prefix = Prefix.AGENT if found.kind is PrincipalKind.AGENT else Prefix.SERVICE
        tenant_id = session.connection().execute(
            select(principal.c.tenant_id).where(principal.c.principal_id == found.principal_id)
        )
        target = encode_id(prefix, found.principal_id)
        _record(session, tenant_id.scalar(), target, what, by=by)
    return found.principal_id


def _lent(
    session: Session,
    token: str,
    holder: Holder,
    lender: Callable[[str, float], Claims | None],
) -> Claims | None:
    """The right that a token for A2A notifications lends, where it is the holder's."""
    lent = lender(token, database_now(session).replace(tzinfo=UTC).timestamp())
    if lent is None or not lent.token_id:  # one made before they had names
        return None
    return lent if holds(session, holder, lent) else None


def _revoke_alone(session: Session, claims: Claims) -> bool:
    """Whether it was not revoked before."""
    connection = session.connection()
    known = connection.execute(
        select(revoked_token.c.token_id).where(
            revoked_token.c.principal_id == claims.principal_id,
            revoked_token.c.token_id == claims.token_id,
        )
    )
    if known.first() is not None:
        return False
    until = datetime.fromtimestamp(claims.expires_at, UTC).replace(tzinfo=None)
    try:
        connection.execute(
            insert(revoked_token).values(
                principal_id=claims.principal_id, token_id=claims.token_id, expires_at=until
            )
        )
    except IntegrityError:
        raise Repeat from None
    return True


def _record(
    session: Session, tenant_id: bytes | None, target: str, reason: str, *, by: Origin
) -> None:
    record(session, Entry(tenant_id, by, Action.TOKEN_REVOKE, target, reason=reason))
