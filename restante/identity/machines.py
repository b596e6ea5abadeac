"""What agents and services have in common: a name, grants and a first secret."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import insert, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from restante.audit.actions import Action
from restante.audit.chain import record
from restante.audit.entries import Entry, Origin
from restante.errors import ValidationFailed
from restante.identity.credentials import add_client_secret
from restante.identity.grants import add_grants
from restante.identity.names import check_name
from restante.identity.principal import PrincipalKind
from restante.identity.scopes import Scope
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, encode_id, new_id
from restante.storage.tables.identity import principal
from restante.storage.transaction import Repeat


@dataclass(frozen=True, slots=True)
class Enrolled:
    """A new agent or service. Its secret is shown once; its client_id is its public id."""

    id: bytes
    kind: PrincipalKind
    client_secret: str = field(repr=False)

    @property
    def public_id(self) -> str:
        """`agt_…` or `svc_…`."""
        agent = self.kind is PrincipalKind.AGENT
        return encode_id(Prefix.AGENT if agent else Prefix.SERVICE, self.id)


def enrol(
    session: Session,
    tenant_id: bytes,
    kind: PrincipalKind,
    *,
    name: str,
    grants: Sequence[Scope],
    by: Origin,
    columns: dict[str, Any] | None = None,
) -> Enrolled:
    """A new principal of the tenant with its grants and a secret; ValidationFailed: the name is taken."""
    check_name(name)
    taken = session.connection().execute(
        select(principal.c.name).where(
            principal.c.tenant_id == tenant_id,
            principal.c.kind == kind.value,
            principal.c.name == name,
        )
    )
    if taken.first() is not None:
        article = "an agent" if kind is PrincipalKind.AGENT else "a service"
        raise ValidationFailed.at("/name", f"the tenant has {article} named {name!r} already")
    principal_id = new_id()
    try:
        session.connection().execute(
            insert(principal).values(
                principal_id=principal_id,
                tenant_id=tenant_id,
                kind=kind.value,
                name=name,
                created_at=database_now(session),
                **(columns or {}),
            )
        )
    except IntegrityError:
        raise Repeat from None  # somebody else's, made meanwhile: the repeat finds it
    add_grants(session, principal_id, grants)
    made = Enrolled(principal_id, kind, add_client_secret(session, principal_id))
    target = made.public_id
    created = Action.AGENT_CREATE if kind is PrincipalKind.AGENT else Action.SERVICE_CREATE
    given = ", ".join(map(str, grants)) or "nothing"
    record(
        session,
        Entry(tenant_id, by, created, target, reason=name),
        Entry(tenant_id, by, Action.GRANT_ASSIGN, target, reason=given),
    )
    return made
