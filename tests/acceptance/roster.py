"""Who takes part in a run: one tenant with a project, agents and a producer, made at once."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.orm import Session

from restante.identity.agents import create_agent
from restante.identity.machines import Enrolled
from restante.identity.projects import create_project
from restante.identity.scopes import TenantScope
from restante.identity.services import create_service
from restante.identity.tenants import create_tenant
from restante.storage.engine import make_engine
from restante.storage.ids import Prefix, encode_id
from restante.storage.transaction import Database
from tests.acceptance.arena import Arena


@dataclass(frozen=True, slots=True)
class Member:
    """What a client needs to be somebody. An agent's `client_id` is its agent id."""

    client_id: str
    client_secret: str


@dataclass(frozen=True, slots=True)
class Roster:
    agents: list[Member]
    producer: Member


def enrol(arena: Arena, project: str, agents: int) -> Roster:
    """The same on an arena's database."""
    engine = make_engine(arena.url)
    try:
        return enrol_in(Database(engine), project, agents)
    finally:
        engine.dispose()


def enrol_in(database: Database, project: str, agents: int) -> Roster:
    """What `restante tenant|project|agent|service create` would make, without a process for each."""
    grants = [f"agent:{project}:{verb}" for verb in ("read", "claim")]

    def work(session: Session) -> Roster:
        tenant = create_tenant(session, "acceptance", require_signatures=False)
        create_project(session, tenant.id, project)
        made = [
            create_agent(session, tenant.id, name=f"agent-{i}", grants=grants)
            for i in range(agents)
        ]
        scopes = [TenantScope.EVENTS_PUBLISH.value]
        producer = create_service(session, tenant.id, name="producer", scopes=scopes)
        return Roster(
            [_member(Prefix.AGENT, one) for one in made], _member(Prefix.SERVICE, producer)
        )

    return database.run(work)


def _member(prefix: Prefix, made: Enrolled) -> Member:
    return Member(encode_id(prefix, made.id), made.client_secret)
