"""Making a service through the API or the console: nobody raises himself through one he makes."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from restante.errors import InsufficientScope, ValidationFailed
from restante.identity.administrators import Administrator
from restante.identity.grants import check_grants
from restante.identity.machines import Enrolled
from restante.identity.principal import PrincipalKind
from restante.identity.projects import projects_of
from restante.identity.roles import Right
from restante.identity.scopes import ProjectScope, Scope, TenantScope, Verb
from restante.identity.services import create_service


def enrol_service(
    session: Session, who: Administrator, *, name: str, scopes: Sequence[str]
) -> Enrolled:
    """A new service of the tenant with these scopes, and its secret.

    It takes the right to write agents and services, and that to assign grants. A service gives another one
    nothing that its own token does not hold, and no `*`, which no token holds. Raises ValidationFailed,
    InsufficientScope naming the first scope it has not, and what `Administrator.require` does.
    """
    who.require(Right.AGENTS_WRITE)
    slugs = projects_of(session, who.tenant_id)
    given = check_grants(scopes, PrincipalKind.SERVICE, slugs=slugs, pointer="/scopes")
    who.require_to_give(given)
    if who.role is None:
        _check_held(who, given)
    return create_service(session, who.tenant_id, name=name, scopes=scopes, by=who.by)


def _check_held(who: Administrator, given: Sequence[Scope]) -> None:
    for index, scope in enumerate(given):
        if isinstance(scope, ProjectScope) and scope.project == "*":
            raise ValidationFailed.at(
                f"/scopes/{index}",
                "a service can give only what it holds, and * is in no token: name the projects, or have an "
                "operator make the service",
            )
        if not _holds(who, scope):
            raise InsufficientScope(str(scope))


def _holds(who: Administrator, scope: Scope) -> bool:
    if scope in who.scopes:
        return True
    # to publish everywhere is to publish here
    return (
        isinstance(scope, ProjectScope)
        and scope.verb is Verb.PUBLISH
        and TenantScope.EVENTS_PUBLISH in who.scopes
    )
