"""The demo tenant: an agent that is away, and the first event, which waits for it."""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.orm import Session

from config import DEFAULT_PUBLIC_URL
from restante.errors import NotFound
from restante.identity.agents import create_agent
from restante.identity.machines import Enrolled
from restante.identity.operators import find_operator, invite
from restante.identity.principal import Principal, PrincipalKind
from restante.identity.projects import create_project
from restante.identity.roles import Role
from restante.identity.scopes import TenantScope
from restante.identity.services import create_service
from restante.identity.sign_in_links import Purpose, make_link
from restante.identity.tenants import create_tenant, find_tenant
from restante.inbox.publication import Publication
from restante.inbox.publish import publish
from restante.storage.ids import Prefix, encode_id
from restante.storage.instance import write_private
from restante.storage.transaction import Database

TENANT = "demo"
PROJECT = "demo"
OPERATOR = "operator@localhost"
FIRST_EVENT = b'{"text": "Hello. This waited for you while you were away."}'


@dataclass(frozen=True, slots=True)
class Demo:
    """Files, one per principal, that a shell can read: where the server is, and who one is."""

    agent_file: Path
    producer_file: Path
    agent_id: str


@dataclass(frozen=True, slots=True)
class _Made:
    agent: Enrolled
    producer: Enrolled


def make_demo(database: Database, folder: Path, url: str) -> Demo | None:
    """The demo tenant, made at the first start; None where its tenant was made elsewhere."""
    demo = folder / "demo-agent.env", folder / "demo-producer.env"
    made = database.run(_make)
    if made is not None:
        prefixes = (Prefix.AGENT, Prefix.SERVICE)
        for file, who, prefix in zip(demo, (made.agent, made.producer), prefixes, strict=True):
            _write(file, client_id=encode_id(prefix, who.id), secret=who.client_secret, url=url)
    elif not all(file.exists() for file in demo):
        return None
    for file in demo:
        _move(file, url)
    return Demo(*demo, agent_id=_read(demo[0])["RESTANTE_CLIENT_ID"])


def demo_link(database: Database, url: str) -> str:
    """A new one-time link for the demo tenant's operator, who is made where he is not there."""

    def work(session: Session) -> str:
        tenant_id = find_tenant(session, TENANT).id
        try:
            who = find_operator(session, OPERATOR, tenant_id)
        except NotFound:
            who = invite(session, tenant_id, email=OPERATOR, role=Role.TENANT_ADMIN)
        return make_link(session, who, Purpose.SIGN_IN)

    return f"{url}/sign-in/{database.run(work)}"


def _make(session: Session) -> _Made | None:
    try:
        find_tenant(session, TENANT)
    except NotFound:
        pass
    else:
        return None
    tenant = create_tenant(session, TENANT, require_signatures=False)
    project = create_project(session, tenant.id, PROJECT)
    grants = [f"agent:{PROJECT}:{verb}" for verb in ("read", "claim", "publish")]
    agent = create_agent(session, tenant.id, name="demo-agent", grants=grants)
    scopes = [TenantScope.EVENTS_PUBLISH.value]
    producer = create_service(session, tenant.id, name="demo-producer", scopes=scopes)
    author = Principal(
        tenant_id=tenant.id,
        kind=PrincipalKind.SERVICE,
        id=producer.id,
        name="demo-producer",
        scopes=frozenset({TenantScope.EVENTS_PUBLISH}),
        projects={PROJECT: project},
    )
    first = Publication(
        recipients=(agent.id,), project=PROJECT, type="greeting", payload=FIRST_EVENT
    )
    publish(session, author, [first])
    return _Made(agent, producer)


def _write(file: Path, *, client_id: str, secret: str, url: str) -> None:
    said = {
        "RESTANTE_URL": url,
        "RESTANTE_CLIENT_ID": client_id,
        "RESTANTE_CLIENT_SECRET": secret,
    }
    write_private(
        file, "".join(f"export {name}={shlex.quote(text)}\n" for name, text in said.items())
    )


def _read(file: Path) -> dict[str, str]:
    words = shlex.split(file.read_text())
    return dict(word.split("=", 1) for word in words if "=" in word)


def _move(file: Path, url: str) -> None:
    """The server may be at another address than at its first start."""
    said = _read(file)
    if said["RESTANTE_URL"] != url:
        _write(
            file,
            client_id=said["RESTANTE_CLIENT_ID"],
            secret=said["RESTANTE_CLIENT_SECRET"],
            url=url,
        )


def what_to_do(demo: Demo, url: str, agent_program: Path, *, link: str) -> str:
    """What to open and what to paste."""
    program = shlex.quote(_short(agent_program))
    command = shlex.quote(_short(agent_program.with_name("restante")))
    if url != DEFAULT_PUBLIC_URL:
        command = f"RESTANTE_PUBLIC_URL={url} {command}"
    agent, producer = (shlex.quote(_short(file)) for file in (demo.agent_file, demo.producer_file))
    publication = f"--to {demo.agent_id} --project {PROJECT} --type greeting"
    return f"""
Restante serves on {url}

  Open, to sign in as the demo tenant's operator (once, within 15 minutes):

    {link}

  A new link:   {command} operator link --email {OPERATOR}

  Paste into another terminal, to receive the first event as the demo agent:

    (. {agent} && {program} listen --exec 'tee /dev/stderr')

  And into a third, to publish another:

    (. {producer} && {program} publish {publication} '{{"text": "Hello again."}}')
"""


def _short(path: Path) -> str:
    """Relative to where one is, where that is shorter."""
    return min(str(path), os.path.relpath(path), key=len)
