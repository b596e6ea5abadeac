"""Operators: the people of the console. Each has one role, in one tenant or in none (the platform's)."""

from __future__ import annotations

import re
import string
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from sqlalchemy import Row, Select, delete, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from restante.audit.actions import Action, ActorKind
from restante.audit.chain import record
from restante.audit.entries import IN_PROCESS, Actor, Entry, Origin
from restante.errors import NotFound, ValidationFailed
from restante.identity.roles import Role
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, encode_id, new_id
from restante.storage.tables.identity import tenant
from restante.storage.tables.operators import operator, operator_session, sign_in_link
from restante.storage.transaction import Repeat

EMAIL_LENGTH = 254
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


class OperatorStatus(StrEnum):
    """`invited`: has never signed in."""

    INVITED = "invited"
    ACTIVE = "active"
    DISABLED = "disabled"


@dataclass(frozen=True, slots=True)
class Operator:
    """One person in one tenant; `tenant_id` None: of the platform."""

    id: bytes
    tenant_id: bytes | None
    tenant_name: str | None
    email: str
    role: Role
    status: OperatorStatus
    subject_key: bytes | None = None
    """Of whom he is at the identity provider (`oidc/people.py`), once he is bound."""

    @property
    def public_id(self) -> str:
        """`opr_…`."""
        return encode_id(Prefix.OPERATOR, self.id)

    @property
    def actor(self) -> Actor:
        """Who the audit says it was."""
        return Actor(ActorKind.OPERATOR, self.public_id)


class AmbiguousOperator(NotFound):
    """That e-mail is an operator's in more than one tenant: name the tenant."""


def invite(
    session: Session,
    tenant_id: bytes | None,
    *,
    email: str,
    role: Role,
    by: Origin = IN_PROCESS,
) -> Operator:
    """A new operator, who has not signed in yet (make him a link, `sign_in_links.py`).

    ValidationFailed: no e-mail, one that the tenant has already, a role that needs a tenant or has none.
    """
    email = check_email(email)
    if tenant_id is None and role is not Role.PLATFORM_ADMIN:
        raise ValidationFailed.at("/tenant", f"the role {role} is one in a tenant: name it")
    if tenant_id is not None and role is Role.PLATFORM_ADMIN:
        raise ValidationFailed.at("/tenant", f"the role {role} is above tenants: name none")
    if _found(session, email, operator.c.tenant_id == tenant_id):
        raise ValidationFailed.at("/email", f"{email} is an operator here already")
    made = new_id()
    try:
        session.connection().execute(
            insert(operator).values(
                operator_id=made,
                tenant_id=tenant_id,
                email=email,
                role=role.value,
                status=OperatorStatus.INVITED.value,
                created_at=database_now(session),
            )
        )
    except IntegrityError:
        raise Repeat from None
    invited = operator_by_id(session, made)
    entry = Entry(
        tenant_id, by, Action.OPERATOR_INVITE, invited.public_id, reason=f"{email}, {role}"
    )
    record(session, entry)
    return invited


def check_email(text: str) -> str:
    """An e-mail as it is kept; ValidationFailed where it cannot be one.

    Case counts for nothing in ASCII letters, and for all else: the Kelvin sign is no `k`.
    """
    if not (len(text) <= EMAIL_LENGTH and text.isprintable() and _EMAIL.fullmatch(text)):
        raise ValidationFailed.at("/email", "must be an e-mail address")
    return text.translate(_LOWER)


def find_operator(session: Session, email: str, tenant_id: bytes | None = None) -> Operator:
    """The operator of that e-mail, in that tenant or wherever there is only one; else NotFound."""
    within = () if tenant_id is None else (operator.c.tenant_id == tenant_id,)
    found = _found(session, email.translate(_LOWER), *within)
    if not found:
        raise NotFound(f"There is no operator with the e-mail {email!r}.")
    if len(found) > 1:
        raise AmbiguousOperator
    return found[0]


def operator_by_id(session: Session, operator_id: bytes) -> Operator:
    """The operator of that id; NotFound where there is none."""
    row = (
        session.connection()
        .execute(select_operators().where(operator.c.operator_id == operator_id))
        .one_or_none()
    )
    if row is None:
        raise NotFound
    return operator_of(row)


def disable_operator(
    session: Session, tenant_id: bytes | None, operator_id: bytes, *, by: Origin = IN_PROCESS
) -> None:
    """End his sessions and links with him; NotFound where the tenant has no such operator."""
    connection = session.connection()
    found = connection.execute(
        update(operator)
        .where(operator.c.operator_id == operator_id, operator.c.tenant_id == tenant_id)
        .values(status=OperatorStatus.DISABLED.value)
    )
    if not found.rowcount:
        raise NotFound
    for table in (operator_session, sign_in_link):
        connection.execute(delete(table).where(table.c.operator_id == operator_id))
    target = encode_id(Prefix.OPERATOR, operator_id)
    record(session, Entry(tenant_id, by, Action.OPERATOR_DISABLE, target))


def enable_operator(session: Session, who: Operator, *, by: Origin = IN_PROCESS) -> Operator:
    """He may sign in again, by a new link or at the provider. One who may already is not changed."""
    if who.status is not OperatorStatus.DISABLED:
        return who
    connection = session.connection()
    been_here = connection.execute(
        select(operator.c.signed_in_at).where(operator.c.operator_id == who.id)
    ).scalar_one()
    status = OperatorStatus.INVITED if been_here is None else OperatorStatus.ACTIVE
    connection.execute(
        update(operator).where(operator.c.operator_id == who.id).values(status=status.value)
    )
    record(session, Entry(who.tenant_id, by, Action.OPERATOR_ENABLE, who.public_id))
    return replace(who, status=status)


def unbind_operator(session: Session, who: Operator, *, by: Origin = IN_PROCESS) -> None:
    """Whoever comes next with his verified address is he. Ends his sessions."""
    connection = session.connection()
    connection.execute(
        update(operator)
        .where(operator.c.operator_id == who.id)
        .values(oidc_issuer=None, oidc_subject=None, oidc_hash=None)
    )
    connection.execute(delete(operator_session).where(operator_session.c.operator_id == who.id))
    entry = Entry(who.tenant_id, by, Action.OPERATOR_UPDATE, who.public_id, reason="unbound")
    record(session, entry)


def change_role(
    session: Session, who: Operator, role: Role, *, by: Origin = IN_PROCESS
) -> Operator:
    """The same person with another role. Ends his sessions: he comes back as what he is now."""
    connection = session.connection()
    connection.execute(
        update(operator).where(operator.c.operator_id == who.id).values(role=role.value)
    )
    connection.execute(delete(operator_session).where(operator_session.c.operator_id == who.id))
    reason = f"{who.role} is now {role}"
    record(session, Entry(who.tenant_id, by, Action.OPERATOR_UPDATE, who.public_id, reason=reason))
    return replace(who, role=role)


def select_operators(*more: Any) -> Select[Any]:
    """Operators with the names of their tenants, and `more` columns."""
    return select(
        operator.c.operator_id,
        operator.c.tenant_id,
        tenant.c.name.label("tenant_name"),
        operator.c.email,
        operator.c.role,
        operator.c.status,
        operator.c.oidc_hash,
        *more,
    ).select_from(operator.outerjoin(tenant, tenant.c.tenant_id == operator.c.tenant_id))


def operator_of(row: Row[Any]) -> Operator:
    """That of a row of `select_operators`."""
    return Operator(
        id=row.operator_id,
        tenant_id=row.tenant_id,
        tenant_name=row.tenant_name,
        email=row.email,
        role=Role(row.role),
        status=OperatorStatus(row.status),
        subject_key=row.oidc_hash,
    )


def _found(session: Session, email: str, *where: Any) -> list[Operator]:
    rows = session.connection().execute(
        select_operators().where(operator.c.email == email, *where).order_by(operator.c.operator_id)
    )
    return [operator_of(row) for row in rows]
