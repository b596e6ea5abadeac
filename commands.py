"""The `restante` command (contract section 8). It wires; what it does is in the engine.

`--json` prints exactly one JSON object on stdout; everything else a command says goes to stderr.
"""

from __future__ import annotations

import dataclasses
import functools
import logging
import os
from secrets import randbits
from typing import Any

import click
from sqlalchemy.orm import Session

from command_line import (
    MIGRATIONS,
    as_json,
    by_command,
    database,
    of_tenant,
    open_engine_on,
    refusing,
    say,
    worded,
)
from config import load_settings
from database_commands import db
from doctor import examine_all
from egress_commands import egress
from front_door import look_from_outside
from key_commands import keys, secrets
from list_commands import list_agents, list_all_tenants, list_services, list_tenant_projects
from operator_commands import operator
from restante import __version__
from restante.audit.verification import Progress, verify_on
from restante.identity.agents import create_agent
from restante.identity.projects import create_project
from restante.identity.services import create_service
from restante.identity.tenants import create_tenant, find_tenant
from restante.storage.ids import Prefix, encode_id
from workers.maintain import run_maintenance
from workers.start import start

GRANTS = "agent:<project or *>:read, …:claim or …:publish; repeatable. Changed at /api/v1/admin."
SCOPES = "tenant:events:publish or agent:<project or *>:publish; repeatable. Not changed later."


@click.group()
@click.version_option(__version__, prog_name="restante")
def main() -> None:
    """Restante: a durable inbox for agents that are not always there."""
    logging.getLogger("alembic").setLevel(logging.WARNING)


main.add_command(db)
main.add_command(egress)
main.add_command(operator)
main.add_command(keys)
main.add_command(secrets)


@main.group()
def tenant() -> None:
    """Tenants: what belongs to one cannot be named from another."""


tenant.add_command(list_all_tenants)


@tenant.command("create")
@click.argument("name")
@click.option("--unsigned-ok", is_flag=True, help="Its agents need not sign.")
@as_json
@refusing
def tenant_create(name: str, *, unsigned_ok: bool, as_json: bool) -> None:
    """Create a tenant."""
    with database() as house:
        made = house.run(
            lambda s: create_tenant(s, name, require_signatures=not unsigned_ok, by=by_command())
        )
    tenant_id = encode_id(Prefix.TENANT, made.id)
    say({"tenant_id": tenant_id}, f"Tenant {name}: {tenant_id}", as_json=as_json)


@main.group()
def project() -> None:
    """Projects: the labels that scopes are written for."""


project.add_command(list_tenant_projects)


@project.command("create")
@of_tenant
@click.argument("slug")
@as_json
@refusing
def project_create(tenant: str, slug: str, *, as_json: bool) -> None:
    """Create a project of a tenant."""
    with database() as house:
        made = house.run(
            lambda s: create_project(s, find_tenant(s, tenant).id, slug, by=by_command())
        )
    project_id = encode_id(Prefix.PROJECT, made.id)
    say({"project_id": project_id}, f"Project {slug}: {project_id}", as_json=as_json)


@main.group()
def agent() -> None:
    """Agents: machine principals with an inbox."""


agent.add_command(list_agents)


@agent.command("create")
@of_tenant
@click.option("--name", required=True)
@click.option("--grant", "grants", multiple=True, metavar="SCOPE", help=GRANTS)
@click.option("--capability", "capabilities", multiple=True, metavar="C")
@as_json
@refusing
def agent_create(
    tenant: str, name: str, *, grants: tuple[str, ...], capabilities: tuple[str, ...], as_json: bool
) -> None:
    """Create an agent; its client_secret is shown this once."""

    def work(session: Session) -> Any:
        found = find_tenant(session, tenant)
        return create_agent(
            session, found.id, name=name, grants=grants, capabilities=capabilities, by=by_command()
        )

    with database() as house:
        made = house.run(work)
    _say_machine("agent", encode_id(Prefix.AGENT, made.id), made.client_secret, as_json=as_json)
    if not grants:
        click.echo("It has no grants: it can do nothing.", err=True)


@main.group()
def service() -> None:
    """Services: machine principals without an inbox."""


service.add_command(list_services)


@service.command("create")
@of_tenant
@click.option("--name", required=True)
@click.option("--scope", "scopes", multiple=True, required=True, metavar="SCOPE", help=SCOPES)
@as_json
@refusing
def service_create(tenant: str, name: str, *, scopes: tuple[str, ...], as_json: bool) -> None:
    """Create a service; its client_secret is shown this once."""
    with database() as house:
        made = house.run(
            lambda s: create_service(
                s, find_tenant(s, tenant).id, name=name, scopes=scopes, by=by_command()
            )
        )
    _say_machine("service", encode_id(Prefix.SERVICE, made.id), made.client_secret, as_json=as_json)


def _say_machine(kind: str, public_id: str, secret: str, *, as_json: bool) -> None:
    say(
        {f"{kind}_id": public_id, "client_id": public_id, "client_secret": secret},
        f"{kind + '_id:':<15}{public_id}\nclient_id:     {public_id}\nclient_secret: {secret}\n"
        "(The secret is not shown again.)",
        as_json=as_json,
    )


@main.group()
def audit() -> None:
    """The audit: who did what, in chains of hashes."""


@audit.command("verify")
@as_json
@click.pass_context
@refusing
def audit_verify(context: click.Context, *, as_json: bool) -> None:
    """Look at every entry; exit 1 at the first that is missing, changed or in the wrong place."""
    progress = Progress()
    with database() as house:
        while not progress.finished:
            progress = house.run(functools.partial(verify_on, progress=progress))
    answer: dict[str, Any] = {"chains": progress.chains, "entries": progress.entries}
    text = f"{progress.entries} entries in {progress.chains} chains are what was written."
    if (broken := progress.broken) is not None:
        answer["broken"] = broken.told()
        text = f"Entry {broken.number} of {broken.tenant_id or 'the platform'}: {broken.fault}."
    say({"ok": broken is None, **answer}, text, as_json=as_json)
    context.exit(0 if broken is None else 1)


@main.command("leak-test")
@click.option("--database-url", required=True, metavar="U", help="One that nobody needs.")
@click.option("--seed", type=click.IntRange(0, 2**32 - 1), help="To try the same again.")
@as_json
@click.pass_context
@refusing
def leak_test(
    context: click.Context, *, database_url: str, seed: int | None, as_json: bool
) -> None:
    """Try on a disposable database whether this build loses mail; exit 1 where it does."""
    from workers.leak_test.run import leak_test as run  # noqa: PLC0415 - no other command needs it

    seed = randbits(32) if seed is None else seed
    click.echo(f"seed {seed}", err=True)
    engine = open_engine_on(database_url, "--database-url")
    try:
        report = run(engine, MIGRATIONS, seed=seed)
    finally:
        engine.dispose()
    lines = [f"{'ok ' if c.ok else 'LEAK'} {c.name}: {c.detail}" for c in report.checks]
    say(report.told(), "\n".join(lines), as_json=as_json)
    context.exit(0 if report.ok else 1)


@main.command()
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=8000, show_default=True, type=click.IntRange(1, 65535))
@click.option("--workers", type=click.IntRange(1, 256), help="Processes. [default: 2; SQLite: 1]")
@click.option("--demo", is_flag=True, help="Upgrade the database and make a demo tenant first.")
@as_json
@refusing
def serve(host: str, port: int, *, workers: int | None, demo: bool, as_json: bool) -> None:
    """Serve HTTP. Maintenance is inside, unless RESTANTE_MAINTENANCE=off."""
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s %(message)s")
    start(
        host,
        port,
        workers=workers,
        demo=demo,
        migrations=MIGRATIONS,
        worded=functools.partial(worded, as_json=as_json),
    )


@main.command()
@click.option("--url", metavar="U", help="Also try what is served there, through its proxy.")
@click.option("--patient", is_flag=True, help="With --url: wait for a stream's first heartbeat.")
@as_json
@click.pass_context
def doctor(context: click.Context, *, url: str | None, patient: bool, as_json: bool) -> None:
    """Look at settings, server, schema and clocks. Exit 1 where `serve` would refuse to start."""
    examination = examine_all(MIGRATIONS)
    if url is not None:
        examination.findings += look_from_outside(url, os.environ, patient=patient)
    answer = {
        "ok": examination.ok,
        "server": examination.server,
        "database": examination.database,
        "findings": [dataclasses.asdict(finding) for finding in examination.findings],
    }
    lines = [f"{f.level.upper():8} {f.subject}: {f.sentence}" for f in examination.findings]
    where = f"Database: {examination.server}, {examination.database}"
    text = "\n".join([where, *lines, "" if lines else "Nothing to mend."])
    say(answer, text.rstrip(), as_json=as_json)
    context.exit(0 if examination.ok else 1)


@main.command()
@click.option("--once", is_flag=True, help="One pass of everything, then end.")
@as_json
@refusing
def maintain(*, once: bool, as_json: bool) -> None:
    """Keep the books of inboxes nobody looks at. Any number of copies may run, beside any serve."""
    settings = load_settings()
    with database():
        pass  # what would refuse a `serve` refuses this
    did = {name: dict(counts) for name, counts in run_maintenance(settings, once=once).items()}
    lines = (f"{name}: {', '.join(f'{k} {v}' for k, v in c.items())}" for name, c in did.items())
    say(did, "\n".join(lines) or "Stopped.", as_json=as_json)
