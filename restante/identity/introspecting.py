"""What a client is told of a token of its own (RFC 7662): what it is good for at this moment."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy.orm import Session

from restante.errors import Unauthenticated
from restante.identity.authority import Authority
from restante.identity.credentials import Client
from restante.identity.grants import grants_of
from restante.identity.held_tokens import Holder, Refresh, held_token
from restante.identity.projects import projects_of
from restante.identity.requested_scopes import still_given
from restante.identity.scopes import Scope, parse_scope
from restante.identity.token_keys import TokenKeys
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, encode_id


@dataclass(frozen=True, slots=True)
class Active:
    """A token that would be taken now. Instants are seconds since 1970.

    `token_id`: the `jti` of an access token; None: it is a refresh token.
    """

    scopes: frozenset[Scope]
    client: str
    subject: str
    issued_at: int
    expires_at: int
    token_id: str | None


def introspect(
    session: Session,
    token: str,
    *,
    client: Client,
    name: str,
    keys: TokenKeys,
    authority: Authority,
) -> Active | None:
    """What one of the client's own tokens is good for; None alike for every other and for none."""
    found = held_token(session, token, holder=Holder(name, client), keys=keys)
    if isinstance(found, Refresh):
        return _refresh(session, found)
    if found is None:
        return None
    try:
        bearer = authority.principal_now(session, found)
    except Unauthenticated:
        return None
    return Active(bearer.scopes, name, name, found.issued_at, found.expires_at, found.token_id)


def _refresh(session: Session, found: Refresh) -> Active | None:
    family, now = found.family, database_now(session)
    until = min(found.expires_at, family.expires_at)
    if found.spent or family.revoked_at is not None or until <= now:
        return None
    cap = [scope for text in family.scopes.split() if (scope := parse_scope(text)) is not None]
    left = still_given(
        cap,
        grants=grants_of(session, family.principal_id),
        slugs=projects_of(session, family.tenant_id),
    )
    if not left:
        return None
    subject = encode_id(Prefix.AGENT, family.principal_id)
    begun, ends = _seconds(found.created_at), _seconds(until)
    return Active(left, family.client, subject, begun, ends, None)


def _seconds(instant: datetime) -> int:
    return int(instant.replace(tzinfo=UTC).timestamp())
