"""Services: machine principals of a tenant without an inbox."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from restante.audit.entries import IN_PROCESS, Origin
from restante.errors import ValidationFailed
from restante.identity.grants import check_grants
from restante.identity.machines import Enrolled, enrol
from restante.identity.principal import PrincipalKind
from restante.identity.projects import projects_of


def create_service(
    session: Session,
    tenant_id: bytes,
    *,
    name: str,
    scopes: Sequence[str],
    by: Origin = IN_PROCESS,
) -> Enrolled:
    """A new service of the tenant; ValidationFailed as for agents, and where it would have no scope."""
    if not scopes:
        raise ValidationFailed.at(
            "/scopes", "name at least one; a service without a scope can do nothing"
        )
    granted = check_grants(
        scopes, PrincipalKind.SERVICE, slugs=projects_of(session, tenant_id), pointer="/scopes"
    )
    return enrol(session, tenant_id, PrincipalKind.SERVICE, name=name, grants=granted, by=by)
