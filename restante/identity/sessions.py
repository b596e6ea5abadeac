"""Sessions of operators: rows, so that signing out and revoking end them on every node at once.

The cookie's value is 256 random bits, kept as SHA-256. A session ends half an hour after it was
last seen, and twelve hours after it began, by the database's clock.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import delete, insert, select, update
from sqlalchemy.orm import Session

from restante.audit.actions import Action, Outcome
from restante.audit.chain import record
from restante.audit.entries import IN_PROCESS, Entry, Origin
from restante.errors import NotFound
from restante.identity.operators import (
    Operator,
    OperatorStatus,
    operator_of,
    select_operators,
)
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, decode_id, encode_id, new_id
from restante.storage.tables.operators import operator, operator_session

IDLE = timedelta(minutes=30)
LONGEST = timedelta(hours=12)
RECENT = timedelta(minutes=10)
"""How long a proof of who one is counts as fresh (roles.Rule.anew)."""
NOTED = timedelta(minutes=1)
"""How often, at most, it is written that a session was seen."""

_SESSION_PREFIX = "rsts_"  # so that scanners of repositories know one when they see it
_USER_AGENT_CHARACTERS = 512


class Method(StrEnum):
    """How its operator proved who he is."""

    LINK = "link"
    OIDC = "oidc"


@dataclass(frozen=True, slots=True)
class SignedIn:
    """Who is signed in, and since when. `sudo_at`: when he last proved who he is; `recent`: just now."""

    session_id: bytes
    operator: Operator
    method: Method
    created_at: datetime
    sudo_at: datetime | None
    recent: bool


@dataclass(frozen=True, slots=True)
class Listed:
    """A session in a list."""

    session_id: bytes
    method: Method
    created_at: datetime
    seen_at: datetime
    address: str | None
    user_agent: str | None

    @property
    def public_id(self) -> str:
        """`ses_…`; it opens nothing."""
        return encode_id(Prefix.SESSION, self.session_id)


def begin_session(
    session: Session,
    who: Operator,
    *,
    method: Method,
    user_agent: str | None = None,
    by: Origin = IN_PROCESS,
) -> str:
    """The cookie's value of a new session of somebody who has just proved who he is."""
    token = new_token()
    now, session_id = database_now(session), new_id()
    session.connection().execute(
        insert(operator_session).values(
            session_id=session_id,
            token_hash=hash_of(token),
            operator_id=who.id,
            method=method.value,
            created_at=now,
            seen_at=now,
            expires_at=now + min(IDLE, LONGEST),
            sudo_at=now,
            address=by.address,
            user_agent=user_agent and user_agent[:_USER_AGENT_CHARACTERS],
        )
    )
    record_session(session, Action.SESSION_BEGIN, who, session_id, by, reason=method.value)
    return token


def resume_session(session: Session, token: str, *, used: bool = True) -> SignedIn | None:
    """Who is signed in by that cookie, who has now been seen; None: nobody.

    `used` is false where a page asked by itself: that is no use of the session.
    """
    connection = session.connection()
    row = connection.execute(_sessions().where(_token_is(token))).one_or_none()
    if row is None or row.status != OperatorStatus.ACTIVE.value:
        return None
    now = database_now(session)
    if row.expires_at <= now:
        return None
    if used and now - row.seen_at >= NOTED:
        connection.execute(
            update(operator_session)
            .where(operator_session.c.session_id == row.session_id)
            .values(seen_at=now, expires_at=min(now + IDLE, row.created_at + LONGEST))
        )
    return _signed_in(row, now)


def whose_ran_out(session: Session, token: str) -> Operator | None:
    """Whose session that was, where it ran out by itself; None: it goes on, was ended, or never was one."""
    row = session.connection().execute(_sessions().where(_token_is(token))).one_or_none()
    if row is None or row.status != OperatorStatus.ACTIVE.value:
        return None
    return operator_of(row) if row.expires_at <= database_now(session) else None


def end_session(session: Session, token: str, *, by: Origin = IN_PROCESS) -> None:
    """Sign out. A session that is over already stays so."""
    connection = session.connection()
    row = connection.execute(_sessions().where(_token_is(token))).one_or_none()
    if (
        row is not None
        and connection.execute(
            delete(operator_session).where(operator_session.c.session_id == row.session_id)
        ).rowcount
    ):
        record_session(session, Action.SESSION_END, operator_of(row), row.session_id, by)


def list_sessions(session: Session, operator_id: bytes) -> list[Listed]:
    """An operator's sessions that are not over, the newest first."""
    columns = operator_session.c
    rows = session.connection().execute(
        select(
            columns.session_id,
            columns.method,
            columns.created_at,
            columns.seen_at,
            columns.address,
            columns.user_agent,
        )
        .where(columns.operator_id == operator_id, columns.expires_at > database_now(session))
        .order_by(columns.session_id.desc())
    )
    return [
        Listed(
            row.session_id,
            Method(row.method),
            row.created_at,
            row.seen_at,
            row.address,
            row.user_agent,
        )
        for row in rows
    ]


def revoke_session(
    session: Session, who: Operator, public_id: str, *, by: Origin = IN_PROCESS
) -> None:
    """End a session of that operator by its `ses_…`; NotFound where he has none of that id."""
    session_id = decode_id(Prefix.SESSION, public_id)
    ended = session.connection().execute(
        delete(operator_session).where(
            operator_session.c.session_id == session_id, operator_session.c.operator_id == who.id
        )
    )
    if session_id is None or not ended.rowcount:
        raise NotFound
    record(session, Entry(who.tenant_id, by, Action.SESSION_REVOKE, public_id, reason=who.email))


def revoke_others(session: Session, who: SignedIn, *, by: Origin = IN_PROCESS) -> int:
    """End all sessions of that operator but the one he asks from; how many that were."""
    return revoke_all(session, who.operator, but=who.session_id, by=by)


def revoke_all(
    session: Session, who: Operator, *, but: bytes | None = None, by: Origin = IN_PROCESS
) -> int:
    """End all sessions of that operator, all `but` one; how many that were."""
    others = [
        operator_session.c.operator_id == who.id,
        operator_session.c.expires_at > database_now(session),
    ]
    if but is not None:
        others.append(operator_session.c.session_id != but)
    connection = session.connection()
    found = connection.execute(
        select(operator_session.c.session_id).where(*others).with_for_update()
    )
    ended = sorted(found.scalars())
    connection.execute(
        delete(operator_session).where(
            operator_session.c.session_id.in_(ended),
            operator_session.c.operator_id == who.id,
        )
    )
    named = [encode_id(Prefix.SESSION, session_id) for session_id in ended]
    entries = (
        Entry(who.tenant_id, by, Action.SESSION_REVOKE, one, reason=who.email) for one in named
    )
    record(session, *entries)
    return len(ended)


def refuse_request(
    session: Session, who: SignedIn, *, target: str, why: str, by: Origin = IN_PROCESS
) -> None:
    """Note that something was refused to somebody who is signed in; `target`: where he asked for it."""
    record(
        session,
        Entry(who.operator.tenant_id, by, Action.REQUEST_REFUSE, target, Outcome.REFUSED, why),
    )


def _sessions() -> Any:
    columns = operator_session.c
    return select_operators(
        columns.session_id,
        columns.method,
        columns.created_at,
        columns.seen_at,
        columns.expires_at,
        columns.sudo_at,
    ).join(operator_session, columns.operator_id == operator.c.operator_id)


def _token_is(token: str) -> Any:
    return operator_session.c.token_hash == hash_of(token)


def _signed_in(row: Any, now: datetime) -> SignedIn:
    return SignedIn(
        session_id=row.session_id,
        operator=operator_of(row),
        method=Method(row.method),
        created_at=row.created_at,
        sudo_at=row.sudo_at,
        recent=row.sudo_at is not None and row.sudo_at > now - RECENT,
    )


def record_session(
    session: Session,
    action: Action,
    who: Operator,
    session_id: bytes,
    by: Origin,
    *,
    reason: str | None = None,
) -> None:
    """Enter in the audit what a session's operator did with it."""
    target = encode_id(Prefix.SESSION, session_id)
    own = replace(by, actor=who.actor)
    record(session, Entry(who.tenant_id, own, action, target, reason=reason))


def new_token() -> str:
    """A new value of a session's cookie."""
    return _SESSION_PREFIX + secrets.token_urlsafe(32)


def hash_of(token: str) -> bytes:
    """What is kept of it."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
