"""One-time links: how operators sign in without an identity provider.

A link is 256 random bits, kept as SHA-256, good once and not for long. Looking at it spends
nothing, since scanners of mail open every address they see.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from sqlalchemy import delete, insert, update
from sqlalchemy.orm import Session

from restante.audit.actions import Action
from restante.audit.chain import record
from restante.audit.entries import IN_PROCESS, Entry, Origin
from restante.errors import RestanteError
from restante.identity.operators import (
    Operator,
    OperatorStatus,
    operator_of,
    select_operators,
)
from restante.storage.clock import database_now
from restante.storage.tables.operators import operator, sign_in_link

_LINK_PREFIX = "rstl_"  # so that scanners of repositories know one when they see it


class Purpose(StrEnum):
    """What a link was made for."""

    INVITE = "invite"
    SIGN_IN = "sign_in"


LIFE = {Purpose.INVITE: timedelta(days=3), Purpose.SIGN_IN: timedelta(minutes=15)}
"""How long a link is good."""


class Refusal(StrEnum):
    """Why a link lets nobody in."""

    UNKNOWN = "unknown"
    SPENT = "spent"
    EXPIRED = "expired"
    DISABLED = "disabled"


@dataclass(frozen=True, slots=True)
class Refused:
    """It does not let in; `operator` is whose it was, where it is known."""

    why: Refusal
    operator: Operator | None = None


class OperatorDisabled(RestanteError):
    """That operator is disabled: he cannot sign in."""


def make_link(session: Session, who: Operator, purpose: Purpose, *, by: Origin = IN_PROCESS) -> str:
    """A new link's secret. This is the only time it can be read. OperatorDisabled: he is."""
    if who.status is OperatorStatus.DISABLED:
        raise OperatorDisabled
    secret = _LINK_PREFIX + secrets.token_urlsafe(32)
    now = database_now(session)
    session.connection().execute(
        insert(sign_in_link).values(
            link_hash=_hashed(secret),
            purpose=purpose.value,
            operator_id=who.id,
            created_at=now,
            expires_at=now + LIFE[purpose],
        )
    )
    entry = Entry(who.tenant_id, by, Action.LINK_CREATE, who.public_id, reason=purpose.value)
    record(session, entry)
    return secret


def withdraw_links(session: Session, who: Operator) -> None:
    """Those of his that nobody has taken let nobody in any more."""
    session.connection().execute(
        delete(sign_in_link).where(
            sign_in_link.c.operator_id == who.id, sign_in_link.c.spent_at.is_(None)
        )
    )


def look_at_link(session: Session, secret: str) -> Operator | Refused:
    """Whom a link would let in. Nothing is changed."""
    row = (
        session.connection()
        .execute(
            select_operators(sign_in_link.c.spent_at, sign_in_link.c.expires_at)
            .join(sign_in_link, sign_in_link.c.operator_id == operator.c.operator_id)
            .where(sign_in_link.c.link_hash == _hashed(secret))
        )
        .one_or_none()
    )
    if row is None:
        return Refused(Refusal.UNKNOWN)
    who = operator_of(row)
    why = _why_not(who, row.spent_at, row.expires_at, database_now(session))
    return who if why is None else Refused(why, who)


def take_link(session: Session, secret: str) -> Operator | Refused:
    """Spend a link, by compare-and-swap: of several at once, one is let in."""
    found = look_at_link(session, secret)
    if isinstance(found, Refused):
        return found
    connection = session.connection()
    taken = connection.execute(
        update(sign_in_link)
        .where(sign_in_link.c.link_hash == _hashed(secret), sign_in_link.c.spent_at.is_(None))
        .values(spent_at=database_now(session))
    )
    if not taken.rowcount:
        return Refused(Refusal.SPENT, found)
    now = database_now(session)
    let_in = connection.execute(
        update(operator)
        .where(
            operator.c.operator_id == found.id,
            operator.c.status != OperatorStatus.DISABLED.value,
        )
        .values(status=OperatorStatus.ACTIVE.value, signed_in_at=now)
    )
    return found if let_in.rowcount else Refused(Refusal.DISABLED, found)


def _why_not(
    who: Operator, spent_at: datetime | None, expires_at: datetime, now: datetime
) -> Refusal | None:
    if spent_at is not None:
        return Refusal.SPENT
    if expires_at <= now:
        return Refusal.EXPIRED
    return Refusal.DISABLED if who.status is OperatorStatus.DISABLED else None


def _hashed(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
