"""Where it is tried: a database that nobody needs, a tenant of its own, and the verbs as units of work."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Engine, inspect, select
from sqlalchemy.orm import Session

from restante.errors import RestanteError
from restante.identity.agents import create_agent
from restante.identity.principal import Principal, PrincipalKind
from restante.identity.projects import create_project, projects_of
from restante.identity.scopes import ProjectScope, Scope, TenantScope, Verb
from restante.identity.services import create_service
from restante.identity.tenants import create_tenant
from restante.inbox.browse import Page, ReadRequest, read_event, read_page
from restante.inbox.claim import ClaimRequest, claim
from restante.inbox.orders import Order
from restante.inbox.publication import Publication, Published
from restante.inbox.publish import publish
from restante.inbox.settle import settle_one
from restante.signals.registry import count_live_nodes
from restante.storage import copying, incarnation, schema
from restante.storage.ids import Prefix, decode_id
from restante.storage.tables import metadata
from restante.storage.tables.events import agent_inbox
from restante.storage.tables.identity import tenant
from restante.storage.tables.operators import operator
from restante.storage.transaction import Database

T = TypeVar("T")
NAMES = "leak-test-"
PROJECT = "p"
OURS = frozenset(metadata.tables) | {"alembic_version"}
AGENT: frozenset[Scope] = frozenset(ProjectScope(PROJECT, v) for v in (Verb.READ, Verb.CLAIM))
SERVICE: frozenset[Scope] = frozenset({TenantScope.EVENTS_PUBLISH})


class NotDisposable(RestanteError):
    """The database is not one that nobody needs."""


@dataclass(frozen=True, slots=True)
class Event:
    """A claimed event as its holder knows it."""

    id: bytes
    generation: int
    told: dict[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Box:
    """One agent's inbox and who publishes to it; each method is a unit of work."""

    database: Database
    service: Principal
    agent: Principal

    def run(self, work: Callable[[Session], T]) -> T:
        """One unit of work."""
        return self.database.run(work)

    def publish(self, **members: Any) -> Published:
        """One event into this inbox."""
        publication = Publication(
            **{"recipients": (self.agent.id,), "project": PROJECT, "type": "t", "payload": b"{}"}
            | members
        )
        return self.run(lambda session: publish(session, self.service, [publication]))[0]

    def claim(self, *, limit: int = 1, lease_seconds: int = 60) -> list[Event]:
        """What a claim takes."""
        projects = self.agent.require_any(Verb.CLAIM)
        request = ClaimRequest(projects=projects, limit=limit, lease_seconds=lease_seconds)
        taken = self.run(lambda session: claim(session, self.agent, request)).events
        return [event_of(text) for text in taken]

    def order(self, order: Order) -> dict[str, Any]:
        """What is answered to one order; raises StaleClaim."""
        return self.run(lambda session: settle_one(session, self.agent, order))

    def page(self, after: int, limit: int) -> Page:
        """What comes after a cursor."""
        projects = self.agent.require_any(Verb.READ)
        request = ReadRequest(projects=projects, after_cursor=after, limit=limit)
        return self.run(lambda session: read_page(session, self.agent, request))

    def read(self, event_id: bytes) -> dict[str, Any]:
        """An event as its agent reads it."""
        text = self.run(lambda session: read_event(session, self.agent, event_id))
        told: dict[str, Any] = json.loads(text)
        return told

    def rows(self) -> list[Any]:
        """The rows of the inbox, by sequence."""
        asked = select(agent_inbox).where(agent_inbox.c.recipient_id == self.agent.id)
        ordered = asked.order_by(agent_inbox.c.sequence_number)
        return list(self.run(lambda session: session.connection().execute(ordered).all()))


@dataclass(frozen=True, slots=True)
class Ground:
    """A new tenant on the database, and an inbox for each thing that is tried."""

    database: Database
    tenant_id: bytes
    service: Principal
    chance: random.Random

    def box(self) -> Box:
        """A new agent's."""
        name = f"agent-{self.chance.getrandbits(48):012x}"
        grants = sorted(str(scope) for scope in AGENT)
        made = self.database.run(
            lambda session: create_agent(session, self.tenant_id, name=name, grants=grants)
        )
        kind = PrincipalKind.AGENT
        agent = replace(self.service, id=made.id, kind=kind, name=name, scopes=AGENT)
        return Box(self.database, self.service, agent)


def event_of(text: bytes) -> Event:
    """From what a claim answers."""
    told = json.loads(text)
    return Event(decode_id(Prefix.EVENT, told["event_id"]) or b"", told["claim_generation"], told)


def prepare(engine: Engine, migrations: Path, seed: int) -> Ground:
    """Have the tables and a new tenant, where nobody else has anything. Raises NotDisposable."""
    database = Database(engine)
    present = set(inspect(engine).get_table_names())
    if others := sorted(present - OURS):
        raise NotDisposable(
            f"The database has tables of something else ({', '.join(others[:3])}): a leak test is for one "
            "that nobody needs. Make a new one for it."
        )
    if present:
        database.run(_require_nobody)
    schema.upgrade(engine, migrations)
    database.run(incarnation.current)
    chance = random.Random(seed)  # noqa: S311 - what is tried, not a secret
    return database.run(lambda session: _make(session, database, chance))


def _require_nobody(session: Session) -> None:
    connection = session.connection()
    have = set(inspect(connection).get_table_names())
    names = connection.execute(select(tenant.c.name)).scalars() if tenant.name in have else ()
    theirs = [name for name in names if not name.startswith(NAMES)]
    if operator.name in have:
        theirs += list(connection.execute(select(operator.c.email).limit(1)).scalars())
    if theirs or ("node" in have and count_live_nodes(session)):
        raise NotDisposable(
            f"The database is somebody's ({', '.join(theirs[:3]) or 'it is being served'}): a leak test is "
            "for one that nobody needs. Make a new one for it."
        )


def _make(session: Session, database: Database, chance: random.Random) -> Ground:
    name = f"{NAMES}{chance.getrandbits(32):08x}-{copying.content(session, tenant).rows}"
    made = create_tenant(session, name, require_signatures=False)
    create_project(session, made.id, PROJECT)
    scopes = sorted(str(scope) for scope in SERVICE)
    enrolled = create_service(session, made.id, name="publisher", scopes=scopes)
    projects = projects_of(session, made.id)
    service = Principal(made.id, PrincipalKind.SERVICE, enrolled.id, "publisher", SERVICE, projects)
    return Ground(database, made.id, service, chance)
