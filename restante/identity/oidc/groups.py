"""Who is what here by the groups that the identity provider says he is in.

The groups decide alone: who is in none has no way in, and what they say of his role holds from his
next sign-in on. Operators are made at their first.
"""

from __future__ import annotations

import logging

from sqlalchemy import delete, update
from sqlalchemy.orm import Session

from restante.audit.actions import Action
from restante.audit.chain import record
from restante.audit.entries import Entry, Origin
from restante.errors import NotFound
from restante.identity.oidc.configuration import Groups
from restante.identity.oidc.people import (
    Person,
    Stranger,
    bind,
    no_address,
    operators_bound_to,
    operators_named,
)
from restante.identity.operators import Operator, OperatorStatus, change_role, invite
from restante.identity.roles import Role
from restante.identity.tenants import find_tenant
from restante.storage.tables.operators import operator, operator_session

log = logging.getLogger("restante.oidc")
_RANK = {Role.OPERATOR: 0, Role.TENANT_ADMIN: 1, Role.PLATFORM_ADMIN: 2}


def grouped_operators(
    session: Session, person: Person, groups: Groups, by: Origin
) -> list[Operator] | Stranger:
    """The active operators of a person, as his groups have it now."""
    roles = _roles(session, person, groups)
    bound = operators_bound_to(session, person.key)
    for one in bound:
        if one.tenant_id not in roles:
            _shut_out(session, one, by)
    if not roles:
        return Stranger.NO_GROUP
    there = {one.tenant_id: one for one in bound}
    found: list[Operator] = []
    why = Stranger.DISABLED
    for tenant_id, role in roles.items():
        who = there.get(tenant_id) or _newcomer(session, person, tenant_id, role=role, by=by)
        if isinstance(who, Stranger):
            why = who
        elif who.status is not OperatorStatus.DISABLED:
            found.append(who if who.role is role else change_role(session, who, role, by=by))
    return sorted(found, key=lambda one: one.id) or why


def _shut_out(session: Session, who: Operator, by: Origin) -> None:
    """What he was let in to ends, and no other session of the person changes to him."""
    connection = session.connection()
    ended = connection.execute(
        delete(operator_session).where(operator_session.c.operator_id == who.id)
    )
    if ended.rowcount:
        reason = "in no group that has a role here any more"
        entry = Entry(who.tenant_id, by, Action.SESSION_REVOKE, who.public_id, reason=reason)
        record(session, entry)
    connection.execute(
        update(operator).where(operator.c.operator_id == who.id).values(signed_in_at=None)
    )


def _roles(session: Session, person: Person, groups: Groups) -> dict[bytes | None, Role]:
    """His role in each tenant (None: on the platform); of several the one that may more."""
    roles: dict[bytes | None, Role] = {}
    for group in sorted(person.groups & groups.places.keys()):
        for place in groups.places[group]:
            try:
                tenant_id = None if place.tenant is None else find_tenant(session, place.tenant).id
            except NotFound:
                log.warning("oidc_group_without_tenant tenant=%r", place.tenant)
                continue
            held = roles.get(tenant_id, place.role)
            roles[tenant_id] = max(held, place.role, key=lambda role: _RANK[role])
    return roles


def _newcomer(
    session: Session, person: Person, tenant_id: bytes | None, *, role: Role, by: Origin
) -> Operator | Stranger:
    """Somebody who is there for the first time: whom the tenant knows by his address, or a new one."""
    address = person.address
    if address is None:
        return no_address(person)
    named = [one for one in operators_named(session, address) if one.tenant_id == tenant_id]
    if named and named[0].subject_key is not None:
        return Stranger.TAKEN
    if named and named[0].status is OperatorStatus.DISABLED:
        return Stranger.DISABLED
    one = named[0] if named else invite(session, tenant_id, email=address, role=role, by=by)
    bind(session, one, person, by)
    return one
