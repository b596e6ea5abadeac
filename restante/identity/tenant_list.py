"""Tenants as the platform sees them: which there are and how large, never what is in them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from restante.audit.entries import Origin
from restante.identity.operators import Operator
from restante.identity.roles import Right, require
from restante.identity.tenants import Tenant, create_tenant
from restante.storage import page_token
from restante.storage.ids import Prefix, encode_id
from restante.storage.tables.identity import principal, project, tenant


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantLine:
    """A tenant and how many it has of each; what is removed counts no more."""

    tenant_id: str
    name: str
    require_signatures: bool
    created_at: datetime
    projects: int
    agents: int
    services: int


def list_tenants(
    session: Session, operator: Operator, *, limit: int, token: str | None = None
) -> tuple[list[TenantLine], str | None]:
    """By name → (tenants, next page token). Raises RightMissing, PageTokenInvalid."""
    require(operator.role, Right.TENANTS_READ)
    return all_tenants(session, limit=limit, token=token)


def all_tenants(
    session: Session, *, limit: int, token: str | None = None
) -> tuple[list[TenantLine], str | None]:
    """The same for whoever has the database itself. Raises PageTokenInvalid."""
    of = ("tenants",)
    after = page_token.take(session, of, token)
    asked = select(
        tenant.c.tenant_id, tenant.c.name, tenant.c.require_signatures, tenant.c.created_at
    )
    if after is not None:
        asked = asked.where(tenant.c.name > after)
    connection = session.connection()
    rows = connection.execute(asked.order_by(tenant.c.name).limit(limit + 1)).all()
    shown, more = page_token.cut(session, of, rows, limit, lambda row: row.name)
    ids = [row.tenant_id for row in shown]
    projects = connection.execute(
        select(project.c.tenant_id, func.count().label("many"))
        .where(project.c.tenant_id.in_(ids))
        .group_by(project.c.tenant_id)
    )
    machines = connection.execute(
        select(principal.c.tenant_id, principal.c.kind, func.count().label("many"))
        .where(principal.c.tenant_id.in_(ids), principal.c.status != "removed")
        .group_by(principal.c.tenant_id, principal.c.kind)
    )
    of_projects = {row.tenant_id: row.many for row in projects}
    of_machines = {(row.tenant_id, row.kind): row.many for row in machines}
    return [
        TenantLine(
            tenant_id=encode_id(Prefix.TENANT, row.tenant_id),
            name=row.name,
            require_signatures=row.require_signatures,
            created_at=row.created_at,
            projects=of_projects.get(row.tenant_id, 0),
            agents=of_machines.get((row.tenant_id, "agent"), 0),
            services=of_machines.get((row.tenant_id, "service"), 0),
        )
        for row in shown
    ], more


def open_tenant(
    session: Session, operator: Operator, name: str, *, require_signatures: bool, by: Origin
) -> Tenant:
    """A new tenant, by an operator of the platform. Raises RightMissing, ValidationFailed for its name."""
    require(operator.role, Right.TENANTS_WRITE)
    return create_tenant(session, name, require_signatures=require_signatures, by=by)
