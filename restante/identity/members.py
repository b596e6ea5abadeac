"""The members of a tenant: its operators, as its administrators see, invite and change them.

Operators of the platform are nobody's members. Whoever changes here is himself an administrator who can
sign in, so a tenant loses its last one by him alone, or by two at once: `_leave_one` holds against both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from restante.audit.actions import Action, Outcome
from restante.audit.chain import record
from restante.audit.entries import Entry
from restante.errors import NotFound, RestanteError, ValidationFailed
from restante.identity.administrators import Administrator
from restante.identity.operators import (
    Operator,
    OperatorStatus,
    change_role,
    disable_operator,
    enable_operator,
    invite,
    operator_of,
    select_operators,
)
from restante.identity.roles import Right, Role
from restante.identity.sessions import Listed, list_sessions, revoke_all, revoke_session
from restante.identity.sign_in_links import Purpose, make_link, withdraw_links
from restante.storage import page_token
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, decode_id
from restante.storage.tables.operators import operator, operator_session

ROLES = (Role.OPERATOR, Role.TENANT_ADMIN)
"""What a member may be."""


class LastAdministrator(RestanteError):
    """The tenant would have nobody left to administer it: make another tenant admin first."""


@dataclass(frozen=True, slots=True)
class Member:
    """An operator with what administrators see of him besides. `sessions`: those that are not over."""

    operator: Operator
    created_at: datetime
    signed_in_at: datetime | None
    sessions: int

    @property
    def public_id(self) -> str:
        """`opr_…`."""
        return self.operator.public_id


@dataclass(frozen=True, slots=True)
class MemberPage:
    """By e-mail; the token of what comes after them, None: nothing."""

    members: Sequence[Member]
    next_page_token: str | None


def list_members(
    session: Session, who: Administrator, *, limit: int, token: str | None = None
) -> MemberPage:
    """So many at most, whatever their status. Raises PageTokenInvalid and as `Administrator.require`."""
    who.require(Right.OPERATORS_READ)
    return _page(session, who.tenant_id, limit=limit, token=token)


def list_platform_admins(session: Session, *, limit: int, token: str | None = None) -> MemberPage:
    """Those of no tenant, for whoever has the database itself. Raises PageTokenInvalid."""
    return _page(session, None, limit=limit, token=token)


def _page(
    session: Session, tenant_id: bytes | None, *, limit: int, token: str | None
) -> MemberPage:
    of = ("members", tenant_id.hex() if tenant_id else "")
    after = page_token.take(session, of, token)
    query = _members(session, tenant_id)
    if after is not None:
        query = query.where(operator.c.email > after)
    rows = session.connection().execute(query.order_by(operator.c.email).limit(limit + 1)).all()
    shown, more = page_token.cut(session, of, rows, limit, lambda row: row.email)
    return MemberPage(list(map(_member, shown)), more)


def read_member(session: Session, who: Administrator, public_id: str) -> Member:
    """One; NotFound, and what `Administrator.require` raises."""
    who.require(Right.OPERATORS_READ)
    return _find(session, who, public_id)


def sessions_of(session: Session, who: Administrator, member: Member) -> list[Listed]:
    """His sessions that are not over. Raises what `Administrator.require` does."""
    who.require(Right.OPERATORS_READ)
    return list_sessions(session, member.operator.id)


def invite_member(
    session: Session, who: Administrator, *, email: str, role: str
) -> tuple[Operator, str]:
    """A new operator of the tenant, and the secret of his link, this once.

    Raises ValidationFailed and what `Administrator.require` does.
    """
    who.require(Right.OPERATORS_WRITE)
    made = invite(session, who.tenant_id, email=email.strip(), role=_role(role), by=who.by)
    return made, make_link(session, made, Purpose.INVITE, by=who.by)


def invite_anew(session: Session, who: Administrator, public_id: str) -> tuple[Operator, str]:
    """Another link for one who has never signed in; the one before it lets nobody in any more.

    For who has been here before there is none: whoever makes a link could come in by it as him. Raises
    NotFound and what `Administrator.require` does.
    """
    found = _to_change(session, who, public_id).operator
    if found.status is not OperatorStatus.INVITED:
        raise NotFound(f"{found.email} has no invitation that is open.")
    withdraw_links(session, found)
    return found, make_link(session, found, Purpose.INVITE, by=who.by)


def give_role(session: Session, who: Administrator, public_id: str, role: str) -> Operator:
    """He is that from now on, and signs in anew. What he is already is no change.

    Raises NotFound, ValidationFailed, LastAdministrator and what `Administrator.require` does.
    """
    found, wanted = _to_change(session, who, public_id).operator, _role(role)
    if found.role is wanted:
        return found
    if wanted is not Role.TENANT_ADMIN:
        _leave_one(session, who, found, Action.OPERATOR_UPDATE)
    return change_role(session, found, wanted, by=who.by)


def disable_member(session: Session, who: Administrator, public_id: str) -> Operator:
    """He cannot sign in; his sessions and links end with it. Raises NotFound, LastAdministrator, as above."""
    found = _to_change(session, who, public_id).operator
    if found.status is OperatorStatus.DISABLED:
        return found
    _leave_one(session, who, found, Action.OPERATOR_DISABLE)
    disable_operator(session, who.tenant_id, found.id, by=who.by)
    return replace(found, status=OperatorStatus.DISABLED)


def enable_member(session: Session, who: Administrator, public_id: str) -> Operator:
    """He may sign in again, as what he was. Raises NotFound and what `Administrator.require` does."""
    found = _to_change(session, who, public_id).operator
    return enable_operator(session, found, by=who.by)


def end_session_of(
    session: Session, who: Administrator, public_id: str, session_id: str
) -> Operator:
    """End one of his sessions, at once and on every node. Raises NotFound, as above."""
    found = _to_change(session, who, public_id).operator
    revoke_session(session, found, session_id, by=who.by)
    return found


def end_sessions_of(session: Session, who: Administrator, public_id: str) -> Operator:
    """End all of them. Raises NotFound, as above."""
    found = _to_change(session, who, public_id).operator
    revoke_all(session, found, by=who.by)
    return found


def _to_change(session: Session, who: Administrator, public_id: str) -> Member:
    who.require(Right.OPERATORS_WRITE)
    return _find(session, who, public_id, locked=True)


def is_last_administrator(session: Session, who: Administrator, one: Operator) -> bool:
    """Whether he alone of those who can sign in administers the tenant.

    Raises what `Administrator.require` does.
    """
    who.require(Right.OPERATORS_READ)
    return set(session.connection().execute(_administrators(who).limit(2)).scalars()) == {one.id}


def _administrators(who: Administrator) -> Select[Any]:
    """Ids of those of the tenant who can sign in, ascending."""
    return (
        select(operator.c.operator_id)
        .where(
            operator.c.tenant_id == who.tenant_id,
            operator.c.role == Role.TENANT_ADMIN.value,
            operator.c.status == OperatorStatus.ACTIVE.value,
        )
        .order_by(operator.c.operator_id)
    )


def _leave_one(session: Session, who: Administrator, leaving: Operator, action: Action) -> None:
    """LastAdministrator, which is in the audit, where nobody who can sign in would administer the tenant.

    Locks all who do, so that of two who leave at once the second sees that the first is gone.
    """
    rows = session.connection().execute(_administrators(who).with_for_update())
    if set(rows.scalars()) - {leaving.id}:
        return
    refused = LastAdministrator()
    entry = Entry(who.tenant_id, who.by, action, leaving.public_id, Outcome.REFUSED, refused.detail)
    record(session, entry)
    raise refused


def _role(text: str) -> Role:
    if text not in ROLES:
        raise ValidationFailed.at("/role", f"must be {' or '.join(ROLES)}")
    return Role(text)


def _members(session: Session, tenant_id: bytes | None) -> Select[Any]:
    roles = ROLES if tenant_id else (Role.PLATFORM_ADMIN,)
    open_sessions = (
        select(func.count())
        .select_from(operator_session)
        .where(
            operator_session.c.operator_id == operator.c.operator_id,
            operator_session.c.expires_at > database_now(session),
        )
        .scalar_subquery()
        .label("sessions")
    )
    return select_operators(operator.c.created_at, operator.c.signed_in_at, open_sessions).where(
        operator.c.tenant_id == tenant_id,
        operator.c.role.in_([role.value for role in roles]),
    )


def _find(session: Session, who: Administrator, public_id: str, *, locked: bool = False) -> Member:
    raw = decode_id(Prefix.OPERATOR, public_id)
    if locked:
        own = (operator.c.operator_id == raw, operator.c.tenant_id == who.tenant_id)
        session.connection().execute(select(operator.c.operator_id).where(*own).with_for_update())
    query = _members(session, who.tenant_id).where(operator.c.operator_id == raw)
    row = session.connection().execute(query).one_or_none()
    if raw is None or row is None:
        raise NotFound
    return _member(row)


def _member(row: Any) -> Member:
    return Member(operator_of(row), row.created_at, row.signed_in_at, row.sessions)
