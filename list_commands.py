"""`restante tenant|project|agent|service|operator list`: what there is, a page at a time, and no change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

import click
from sqlalchemy.orm import Session

from command_line import as_json, by_command, database, of_tenant, refusing, say
from restante.identity.administrators import Administrator
from restante.identity.machine_list import Machine, MachineStatus, list_machines
from restante.identity.members import Member, list_members, list_platform_admins
from restante.identity.principal import PrincipalKind
from restante.identity.project_settings import ProjectSettings, list_projects
from restante.identity.roles import Role
from restante.identity.tenant_list import TenantLine, all_tenants
from restante.identity.tenants import find_tenant
from restante.inbox.envelope import instant

MOST = 1000

Command = TypeVar("Command", bound=Callable[..., Any])
Page = tuple[list[dict[str, Any]], str | None]


def paged(command: Command) -> Command:
    """The options of a list."""
    limit = click.option(
        "--limit", type=click.IntRange(1, MOST), default=100, show_default=True, help="At most."
    )
    token = click.option("--page-token", "token", metavar="P", help="Where the last page ended.")
    return limit(token(command))


of_status = click.option(
    "--status",
    type=click.Choice([status.value for status in MachineStatus]),
    help="Left out: all that are not removed.",
)


@click.command("list")
@paged
@as_json
@refusing
def list_all_tenants(*, limit: int, token: str | None, as_json: bool) -> None:
    """Tenants by name; with --json, how much each has, too."""

    def work(session: Session) -> Page:
        found, more = all_tenants(session, limit=limit, token=token)
        return list(map(_tenant, found)), more

    _say("tenants", work, ("tenant_id", "name", "agents"), as_json=as_json)


@click.command("list")
@of_tenant
@paged
@as_json
@refusing
def list_tenant_projects(tenant: str, *, limit: int, token: str | None, as_json: bool) -> None:
    """The projects of a tenant, by slug."""

    def work(session: Session) -> Page:
        page = list_projects(session, _owner(session, tenant), limit=limit, token=token)
        return list(map(_project, page.projects)), page.next_page_token

    _say("projects", work, ("project_id", "slug"), as_json=as_json)


@click.command("list")
@of_tenant
@of_status
@paged
@as_json
@refusing
def list_agents(*, as_json: bool, **asked: Any) -> None:
    """The agents of a tenant, by name; never their secrets."""
    work = partial(_machines, kind=PrincipalKind.AGENT, shown=_agent, **asked)
    _say("agents", work, ("agent_id", "name", "status", "last_seen_at"), as_json=as_json)


@click.command("list")
@of_tenant
@of_status
@paged
@as_json
@refusing
def list_services(*, as_json: bool, **asked: Any) -> None:
    """The services of a tenant, by name; never their secrets."""
    work = partial(_machines, kind=PrincipalKind.SERVICE, shown=_machine, **asked)
    _say("services", work, ("service_id", "name", "status"), as_json=as_json)


@click.command("list")
@click.option("--tenant", metavar="T", help="Its id or name. Left out: the platform's admins.")
@paged
@as_json
@refusing
def list_operators(tenant: str | None, *, limit: int, token: str | None, as_json: bool) -> None:
    """The operators of a tenant, or of the platform, by e-mail."""

    def work(session: Session) -> Page:
        if tenant is None:
            page = list_platform_admins(session, limit=limit, token=token)
        else:
            page = list_members(session, _owner(session, tenant), limit=limit, token=token)
        return list(map(_operator, page.members)), page.next_page_token

    columns = ("operator_id", "email", "role", "status", "signed_in_at")
    _say("operators", work, columns, as_json=as_json)


def _machines(
    session: Session,
    *,
    kind: PrincipalKind,
    shown: Callable[[Machine], dict[str, Any]],
    tenant: str,
    status: str | None,
    limit: int,
    token: str | None,
) -> Page:
    page = list_machines(
        session,
        _owner(session, tenant),
        kind,
        limit=limit,
        token=token,
        status=None if status is None else MachineStatus(status),
    )
    return list(map(shown, page.machines)), page.next_page_token


def _owner(session: Session, tenant: str) -> Administrator:
    """Who has the database is an administrator of each of its tenants."""
    return Administrator(find_tenant(session, tenant).id, by_command(), role=Role.TENANT_ADMIN)


def _say(
    name: str, work: Callable[[Session], Page], columns: Sequence[str], *, as_json: bool
) -> None:
    """The page as one object, or as lines under the names of these columns, and on stderr how to go on."""
    with database() as house:
        rows, more = house.run(work)
    cells = [[str(row[column] or "-") for column in columns] for row in rows]
    if cells:
        cells.insert(0, list(columns))
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in cells]
    say({name: rows, "next_page_token": more}, "\n".join(lines) or f"No {name}.", as_json=as_json)
    if more is not None and not as_json:
        click.echo(f"There are more: --page-token {more}", err=True)


def _tenant(line: TenantLine) -> dict[str, Any]:
    return {
        "tenant_id": line.tenant_id,
        "name": line.name,
        "require_signatures": line.require_signatures,
        "created_at": instant(line.created_at),
        "projects": line.projects,
        "agents": line.agents,
        "services": line.services,
    }


def _project(project: ProjectSettings) -> dict[str, Any]:
    return {
        "project_id": project.public_id,
        "slug": project.slug,
        "on_quarantine": project.on_quarantine,
        "created_at": instant(project.created_at),
    }


def _machine(machine: Machine) -> dict[str, Any]:
    return {
        f"{machine.kind}_id": machine.public_id,
        "name": machine.name,
        "status": machine.status,
        "created_at": instant(machine.created_at),
    }


def _operator(member: Member) -> dict[str, Any]:
    return {
        "operator_id": member.public_id,
        "email": member.operator.email,
        "role": member.operator.role,
        "status": member.operator.status,
        "created_at": instant(member.created_at),
        "signed_in_at": instant(member.signed_in_at),
        "sessions": member.sessions,
    }


def _agent(machine: Machine) -> dict[str, Any]:
    return {
        **_machine(machine),
        "paused": machine.paused,
        "capabilities": list(machine.capabilities),
        "last_seen_at": instant(machine.last_seen_at),
    }
