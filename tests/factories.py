"""Tenants, agents and their mail for tests: real rows, and every verb as a unit of work of its own.

Time is passed with `pass_time`, never waited for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, TypeVar

import orjson
from sqlalchemy import insert, select, update
from sqlalchemy.orm import Session

from restante.identity.principal import Principal, PrincipalKind, Project
from restante.identity.scopes import ProjectScope, Scope, TenantScope, Verb
from restante.inbox import cancel, quarantine, retention, timers
from restante.inbox.browse import Page, ReadRequest, read_event, read_page
from restante.inbox.claim import Claimed, ClaimRequest, claim
from restante.inbox.failures import Failure
from restante.inbox.lifecycle import Gate
from restante.inbox.orders import Ack, Order, Reject, Release, Renew
from restante.inbox.publication import Publication, Published
from restante.inbox.publish import publish
from restante.inbox.rules import RULES, Rules
from restante.inbox.settle import settle_many, settle_one
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, decode_id, new_id
from restante.storage.tables.events import agent_inbox, scheduled_event
from restante.storage.tables.identity import granted_scope, principal, project, tenant
from restante.storage.tables.inboxes import inbox
from restante.storage.transaction import Database

T = TypeVar("T")
PAYLOAD = b'{"a": 1,"b":"\xc3\xa9"}'


def pass_time(database: Database, seconds: float = 0, *, days: float = 0) -> None:
    """Move the database's clock on."""
    database.clock_offset += timedelta(days=days, seconds=seconds)


def set_rules(database: Database, **numbers: Any) -> None:
    """Other numbers than the contract's defaults."""
    database.info[RULES] = replace(database.info.get(RULES, Rules()), **numbers)


@dataclass(frozen=True)
class Event:
    """A claimed event as its holder knows it."""

    id: bytes
    generation: int
    told: dict[str, Any] = field(repr=False)

    @classmethod
    def of(cls, text: bytes) -> Event:
        told = orjson.loads(text)
        return cls(
            decode_id(Prefix.EVENT, told["event_id"]) or b"", told.get("claim_generation", 0), told
        )


@dataclass
class Tenant:
    """A tenant with projects, and a service that may publish, read and cancel everything in it."""

    database: Database
    id: bytes
    projects: dict[str, Project]
    service: Principal

    def principal(self, kind: PrincipalKind, scopes: Iterable[Scope]) -> Principal:
        """A new agent or service, granted these scopes."""
        scopes = frozenset(scopes)
        made = Principal(self.id, kind, new_id(), f"{kind}-{new_id().hex()}", scopes, self.projects)
        self.database.run(lambda session: _write_principal(session, made))
        return made

    def agent(
        self, *slugs: str, verbs: Iterable[Verb] = (Verb.READ, Verb.CLAIM, Verb.PUBLISH)
    ) -> Mailbox:
        """A new agent with these verbs in these projects (all of them unless named)."""
        scopes = [ProjectScope(s, verb) for s in slugs or self.projects for verb in verbs]
        return Mailbox(self.database, self, self.principal(PrincipalKind.AGENT, scopes))


def make_tenant(database: Database, *slugs: str, on_quarantine: str = "skip") -> Tenant:
    """A tenant with projects of these slugs (`p` and `q` unless named)."""
    tenant_id, slugs = new_id(), slugs or ("p", "q")
    projects = {s: Project(new_id(), s, on_quarantine == "hold") for s in slugs}

    def work(session: Session) -> None:
        now, connection = database_now(session), session.connection()
        row = {"tenant_id": tenant_id, "name": tenant_id.hex(), "created_at": now}
        connection.execute(insert(tenant), row | {"require_signatures": False})
        connection.execute(
            insert(project),
            [
                {
                    "project_id": p.id,
                    "tenant_id": tenant_id,
                    "slug": p.slug,
                    "on_quarantine": on_quarantine,
                    "created_at": now,
                }
                for p in projects.values()
            ],
        )

    database.run(work)
    made = Tenant(database, tenant_id, projects, None)  # type: ignore[arg-type]  # set next
    made.service = made.principal(
        PrincipalKind.SERVICE,
        [TenantScope.EVENTS_PUBLISH, TenantScope.EVENTS_READ, TenantScope.EVENTS_CANCEL],
    )
    return made


def _write_principal(session: Session, made: Principal) -> None:
    now, connection = database_now(session), session.connection()
    connection.execute(
        insert(principal),
        {
            "principal_id": made.id,
            "tenant_id": made.tenant_id,
            "kind": made.kind,
            "name": made.name,
            "created_at": now,
        },
    )
    if made.scopes:
        rows = [{"principal_id": made.id, "scope": str(scope)} for scope in made.scopes]
        connection.execute(insert(granted_scope), rows)
    if made.kind is PrincipalKind.AGENT:
        row = {"recipient_id": made.id, "tenant_id": made.tenant_id, "epoch": new_id()}
        connection.execute(insert(inbox), row)


@dataclass
class Mailbox:
    """One agent's inbox; each method is one committed unit of work on `database`."""

    database: Database
    tenant: Tenant
    agent: Principal

    @property
    def id(self) -> bytes:
        return self.agent.id

    def run(self, work: Callable[[Session], T]) -> T:
        return self.database.run(work)

    def only(self, *slugs: str) -> Mailbox:
        """The same agent with a token that covers these projects alone."""
        scopes = {
            s for s in self.agent.scopes if isinstance(s, ProjectScope) and s.project in slugs
        }
        return replace(self, agent=replace(self.agent, scopes=frozenset(scopes)))

    def on(self, database: Database) -> Mailbox:
        """The same inbox through another unit-of-work runner."""
        return replace(self, database=database)

    def set_limits(self, **columns: Any) -> None:
        """Columns of the agent's own row: paused, max_in_flight, max_pending, status."""
        statement = update(principal).where(principal.c.principal_id == self.id).values(columns)
        self.run(lambda session: session.connection().execute(statement))

    def publication(self, **members: Any) -> Publication:
        told = {"recipients": (self.id,), "project": "p", "type": "t", "payload": PAYLOAD}
        return Publication(**(told | members))

    def publish(self, *, producer: Principal | None = None, **members: Any) -> Published:
        """Publish one event to this inbox."""
        return self.publish_many([self.publication(**members)], producer=producer)[0]

    def publish_many(
        self, publications: Iterable[Publication], *, producer: Principal | None = None
    ) -> list[Published]:
        by, listed = producer or self.tenant.service, list(publications)
        return self.run(lambda session: publish(session, by, listed))

    def claim(self, *slugs: str, **members: Any) -> Claimed:
        """Claim in these projects (all covered for claim unless named)."""
        covered = self.agent.require_any(Verb.CLAIM)
        projects = tuple(p for p in covered if not slugs or p.slug in slugs)
        request = ClaimRequest(projects=projects, **members)
        return self.run(lambda session: claim(session, self.agent, request))

    def take(self, *slugs: str, **members: Any) -> list[Event]:
        """The events that a claim took."""
        return [Event.of(text) for text in self.claim(*slugs, **members).events]

    def take_one(self, *slugs: str, **members: Any) -> Event:
        (event,) = self.take(*slugs, limit=1, **members)
        return event

    def settle(self, *orders: Order) -> list[Any]:
        return self.run(lambda session: settle_many(session, self.agent, orders))

    def order(self, order: Order) -> dict[str, Any]:
        return self.run(lambda session: settle_one(session, self.agent, order))

    def ack(self, event: Event, result: bytes | None = None) -> dict[str, Any]:
        return self.order(Ack(event.id, event.generation, result))

    def release(
        self, event: Event, *, delay: float | None = None, error: Failure | None = None
    ) -> dict[str, Any]:
        return self.order(Release(event.id, event.generation, delay, error))

    def fail(self, event: Event, *, delay: float | None = 0) -> dict[str, Any]:
        """Release with an error, claimable again at once unless delayed (None: by backoff)."""
        return self.release(event, delay=delay, error=Failure("boom", "it broke"))

    def reject(self, event: Event, reason: str = "never") -> dict[str, Any]:
        return self.order(Reject(event.id, event.generation, reason))

    def renew(self, event: Event, **members: Any) -> dict[str, Any]:
        return self.order(Renew(event.id, event.generation, **members))

    def cancel(
        self, event_id: bytes, reason: str = "no longer", by: Principal | None = None
    ) -> str:
        actor = by or self.tenant.service
        return self.run(lambda session: cancel.cancel(session, actor, event_id, reason))

    def redrive(self, event_id: bytes, **members: Any) -> None:
        told = {"actor": "opr_x", "reason": "mended"} | members
        self.run(lambda s: quarantine.redrive(s, self.tenant.id, event_id, **told))

    def discard(self, event_id: bytes, reason: str = "useless") -> None:
        told = {"actor": "opr_x", "reason": reason}
        self.run(lambda s: quarantine.discard(s, self.tenant.id, event_id, **told))

    def run_due(self) -> int:
        return self.run(lambda session: timers.run_due(session, self.id))

    def retain(self) -> int:
        """Retention until there is nothing more to move; how many events moved."""
        moved = 0
        for _ in range(100):
            floor = self.run(lambda session: retention.raise_floor(session, self.id))
            now = self.run(lambda session: retention.archive(session, self.id))
            moved += now
            if floor is None and not now:
                return moved
        raise AssertionError("retention does not come to an end")

    def page(self, *slugs: str, **members: Any) -> Page:
        covered = self.agent.require_any(Verb.READ)
        projects = tuple(p for p in covered if not slugs or p.slug in slugs)
        request = ReadRequest(projects=projects, **members)
        return self.run(lambda session: read_page(session, self.agent, request))

    def read(self, event_id: bytes) -> dict[str, Any]:
        text = self.run(lambda session: read_event(session, self.agent, event_id))
        return orjson.loads(text)

    def row(self, event_id: bytes) -> Any:
        """The event's row in the log, or None."""
        query = select(agent_inbox).where(agent_inbox.c.event_id == event_id)
        return self.run(lambda session: session.connection().execute(query).first())

    def gate(self, event_id: bytes) -> Gate | None:
        """Where the event stands as it is written: in the log or among the scheduled."""
        row = self.row(event_id)
        if row is None:
            query = select(scheduled_event).where(scheduled_event.c.event_id == event_id)
            row = self.run(lambda session: session.connection().execute(query).first())
        return None if row is None else Gate(row.gate)

    def inbox_row(self) -> Any:
        query = select(inbox).where(inbox.c.recipient_id == self.id)
        return self.run(lambda session: session.connection().execute(query).one())
