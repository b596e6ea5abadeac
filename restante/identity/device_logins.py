"""The device's side of its login (RFC 8628): a pair of codes, then asking until an operator has decided."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import insert, select, update
from sqlalchemy.orm import Session

from restante.audit.actions import Action
from restante.audit.chain import record
from restante.audit.entries import Entry, Origin
from restante.identity.devices import USER_CODES
from restante.identity.grants import grants_of
from restante.identity.logins import Approved, begin_family, hash_of
from restante.identity.principal import PrincipalKind
from restante.identity.projects import projects_of
from restante.identity.requested_scopes import MOST_SCOPES, InvalidScope, still_given
from restante.identity.scopes import ProjectScope, Scope, parse_scope
from restante.identity.token_refusals import record_refusal
from restante.identity.user_codes import UserCodes
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, decode_id, encode_id
from restante.storage.tables.identity import principal
from restante.storage.tables.logins import device_authorization as device

ANY_AGENT = "restante-agent"
"""The client that is no agent yet: the operator picks one."""
LIFETIME = timedelta(seconds=600)
INTERVAL_SECONDS = 5
SLOWER_SECONDS = 5
_MOST_INTERVAL_SECONDS = 300
_PREFIX = "rstd_"  # so that scanners of repositories know one when they see it


class Poll(StrEnum):
    """What a device hears that asks and gets nothing: the errors of RFC 8628, section 3.5."""

    PENDING = "authorization_pending"
    SLOW_DOWN = "slow_down"
    DENIED = "access_denied"
    EXPIRED = "expired_token"
    INVALID = "invalid_grant"


@dataclass(frozen=True, slots=True)
class Started:
    """The codes of a device that has begun."""

    device_code: str = field(repr=False)
    user_code: str = field(repr=False)
    expires_in_seconds: int
    interval_seconds: int


@dataclass(frozen=True, slots=True)
class LoggedIn:
    """What an approved device gets."""

    principal_id: bytes
    tenant_id: bytes
    family_id: bytes
    scopes: frozenset[Scope]
    refresh_token: str = field(repr=False)


def may_be_public(client: str) -> bool:
    """Whether a client of this name needs no proof: an agent's id, or that of no agent yet."""
    return client == ANY_AGENT or decode_id(Prefix.AGENT, client) is not None


def start(
    session: Session,
    client: str,
    *,
    asked: str | None,
    host: str | None = None,
    user_agent: str | None = None,
    address: str | None = None,
) -> Started | None:
    """Codes for a public client; None where it is no active agent's id nor `restante-agent`.

    Raises InvalidScope where the scope asked for is none that any agent can have.
    """
    agent = _agent(session, client)
    if agent is None and client != ANY_AGENT:
        return None
    scope = _checked(asked)
    codes: UserCodes = session.info[USER_CODES]
    device_code, user_code = _PREFIX + secrets.token_urlsafe(32), codes.make()
    now = database_now(session)
    session.connection().execute(
        insert(device).values(
            device_code_hash=hash_of(device_code),
            user_code_hash=codes.hashed(user_code),
            client=client,
            tenant_id=agent and agent.tenant_id,
            principal_id=agent and agent.principal_id,
            asked_scopes=scope,
            host=_shown(host, 190),
            user_agent=_shown(user_agent, 512),
            address=address,
            interval_seconds=INTERVAL_SECONDS,
            created_at=now,
            expires_at=now + LIFETIME,
        )
    )
    return Started(device_code, user_code, int(LIFETIME.total_seconds()), INTERVAL_SECONDS)


def poll(session: Session, device_code: str, *, client: str, by: Origin) -> LoggedIn | Poll:
    """The login of a device, once; else why there is none yet. The pace is kept: commit either way."""
    connection = session.connection()
    own = device.c.device_code_hash == hash_of(device_code)
    row = connection.execute(select(device).where(own).with_for_update()).one_or_none()
    now = database_now(session)
    if row is None or row.client != client or row.status == "spent":
        why = "unknown" if row is None else "another client's" if row.client != client else "spent"
        record_refusal(session, client, f"a device code: {why}", by=by)
        return Poll.INVALID
    if row.status == "denied":
        return Poll.DENIED
    if row.expires_at <= now:
        return Poll.EXPIRED
    wait = timedelta(seconds=row.interval_seconds)
    if row.polled_at is not None and now - row.polled_at < wait:
        slower = min(row.interval_seconds + SLOWER_SECONDS, _MOST_INTERVAL_SECONDS)
        connection.execute(update(device).where(own).values(polled_at=now, interval_seconds=slower))
        return Poll.SLOW_DOWN
    if row.status == "pending":
        connection.execute(update(device).where(own).values(polled_at=now))
        return Poll.PENDING
    spent = connection.execute(
        update(device).where(own, device.c.status == "approved").values(status="spent")
    )
    scopes = _left(session, row)
    if not spent.rowcount or not scopes:
        agent = encode_id(Prefix.AGENT, row.principal_id)
        record_refusal(session, agent, "a device code: nothing of its login is left", by=by)
        return Poll.INVALID
    login = Approved(
        principal_id=row.principal_id,
        tenant_id=row.tenant_id,
        client=client,
        scopes=scopes,
        approved_by=row.decided_by,
        host=row.host,
        user_agent=row.user_agent,
        address=row.address,
    )
    family_id, refresh_token = begin_family(session, login, now=now)
    target = encode_id(Prefix.AGENT, row.principal_id)
    record(session, Entry(row.tenant_id, by, Action.TOKEN_ISSUE, target, reason="device"))
    return LoggedIn(row.principal_id, row.tenant_id, family_id, scopes, refresh_token)


def _left(session: Session, row: Any) -> frozenset[Scope]:
    """What was approved and is granted still; nothing for an agent that is not active any more."""
    if _agent(session, encode_id(Prefix.AGENT, row.principal_id)) is None:
        return frozenset()
    approved = (parse_scope(text) for text in (row.granted_scopes or "").split())
    return still_given(
        [scope for scope in approved if scope is not None],
        grants=grants_of(session, row.principal_id),
        slugs=projects_of(session, row.tenant_id),
    )


def _agent(session: Session, client: str) -> Any:
    return (
        session.connection()
        .execute(
            select(principal.c.principal_id, principal.c.tenant_id).where(
                principal.c.principal_id == (decode_id(Prefix.AGENT, client) or bytes(16)),
                principal.c.kind == PrincipalKind.AGENT.value,
                principal.c.status == "active",
            )
        )
        .one_or_none()
    )


def _checked(asked: str | None) -> str | None:
    if asked is None or not asked.strip():
        return None
    texts = list(dict.fromkeys(asked.split(" ")))
    for text in texts:
        scope = parse_scope(text)
        if not isinstance(scope, ProjectScope) or scope.project == "*":
            raise InvalidScope("A scope that was asked for is none that an agent can have.")
    if len(texts) > MOST_SCOPES:
        raise InvalidScope(f"A token holds at most {MOST_SCOPES} scopes; ask for fewer.")
    return " ".join(texts)


def _shown(text: str | None, most: int) -> str | None:
    if text is None:
        return None
    return "".join(c if c.isprintable() else " " for c in text)[:most].strip() or None
