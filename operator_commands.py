"""`restante operator`: who may sign in to the console, and links to do so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
from sqlalchemy.orm import Session

from command_line import as_json, by_command, database, refusing, say
from config import load_settings
from list_commands import list_operators
from restante.identity.operators import (
    Operator,
    disable_operator,
    enable_operator,
    find_operator,
    invite,
    unbind_operator,
)
from restante.identity.roles import Role
from restante.identity.sign_in_links import Purpose, make_link
from restante.identity.tenants import find_tenant

_TENANT = click.option("--tenant", metavar="T", help="The tenant's id or name.")
_EMAIL = click.option("--email", required=True, metavar="E")


@click.group()
def operator() -> None:
    """Operators: the people who sign in to the console."""


operator.add_command(list_operators)


@operator.command("invite")
@_TENANT
@_EMAIL
@click.option("--role", required=True, type=click.Choice([role.value for role in Role]))
@as_json
@refusing
def operator_invite(tenant: str | None, email: str, role: str, *, as_json: bool) -> None:
    """Add an operator. Prints the link, good once and for three days, that he signs in with.

    A platform_admin belongs to no tenant, whichever is named.
    """

    def work(session: Session) -> tuple[Operator, str]:
        whose = _named(session, tenant)
        whose = None if role == Role.PLATFORM_ADMIN else whose
        made = invite(session, whose, email=email, role=Role(role), by=by_command())
        return made, make_link(session, made, Purpose.INVITE, by=by_command())

    _say_link(work, as_json=as_json)


@operator.command("link")
@_TENANT
@_EMAIL
@as_json
@refusing
def operator_link(tenant: str | None, email: str, *, as_json: bool) -> None:
    """Print a new link, good once and for fifteen minutes."""

    def work(session: Session) -> tuple[Operator, str]:
        found = find_operator(session, email, _named(session, tenant))
        return found, make_link(session, found, Purpose.SIGN_IN, by=by_command())

    _say_link(work, as_json=as_json)


@operator.command("unbind")
@_TENANT
@_EMAIL
@as_json
@refusing
def operator_unbind(tenant: str | None, email: str, *, as_json: bool) -> None:
    """Let the next person with the verified address be the operator.

    That is the next one who comes from the identity provider with it. Sessions of the one before end.
    """

    def work(session: Session, found: Operator) -> None:
        unbind_operator(session, found, by=by_command())

    _change(tenant, email, work, "His sessions have ended.", as_json=as_json)


@operator.command("disable")
@_TENANT
@_EMAIL
@as_json
@refusing
def operator_disable(tenant: str | None, email: str, *, as_json: bool) -> None:
    """End an operator's sessions and links, and let him in no more."""

    def work(session: Session, found: Operator) -> None:
        disable_operator(session, found.tenant_id, found.id, by=by_command())

    said = "His sessions and links have ended; he cannot sign in."
    _change(tenant, email, work, said, as_json=as_json)


@operator.command("enable")
@_TENANT
@_EMAIL
@as_json
@refusing
def operator_enable(tenant: str | None, email: str, *, as_json: bool) -> None:
    """Let an operator sign in again. `operator link` makes him a link."""

    def work(session: Session, found: Operator) -> None:
        enable_operator(session, found, by=by_command())

    _change(tenant, email, work, "He may sign in again.", as_json=as_json)


def _named(session: Session, tenant: str | None) -> bytes | None:
    return None if tenant is None else find_tenant(session, tenant).id


def _change(
    tenant: str | None,
    email: str,
    work: Callable[[Session, Operator], None],
    said: str,
    *,
    as_json: bool,
) -> None:
    def run(session: Session) -> Operator:
        found = find_operator(session, email, _named(session, tenant))
        work(session, found)
        return found

    with database() as house:
        who = house.run(run)
    say({"operator_id": who.public_id}, f"operator_id: {who.public_id}\n({said})", as_json=as_json)


def _say_link(work: Any, *, as_json: bool) -> None:
    with database() as house:
        who, secret = house.run(work)
    settings = load_settings()
    url = f"{settings.public_url}/sign-in/{secret}"
    if "public_url" not in settings.model_fields_set:
        click.echo(
            f"RESTANTE_PUBLIC_URL is not set, so the link begins with {settings.public_url}:"
            " set it as the server has it, or write the server's address instead.",
            err=True,
        )
    say(
        {"operator_id": who.public_id, "url": url},
        f"operator_id: {who.public_id}\nurl:         {url}\n(The link works once.)",
        as_json=as_json,
    )
