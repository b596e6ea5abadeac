"""The engine in process, beside the same work by raw PyMySQL: what a call costs, and whom.

One caller: the wall time is mostly the commit's flush. What decides under load is processor time,
of this process and of the database's, so both are told.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

import orjson
from sqlalchemy.engine import make_url

from bench import raw
from bench.load import processor_seconds
from bench.payloads import payloads
from restante.identity.agents import create_agent
from restante.identity.principal import Principal, PrincipalKind, Project
from restante.identity.projects import create_project, projects_of
from restante.identity.scopes import ProjectScope, TenantScope, Verb
from restante.identity.tenants import create_tenant
from restante.inbox.claim import ClaimRequest, claim
from restante.inbox.orders import Ack
from restante.inbox.publication import Publication
from restante.inbox.publish import publish
from restante.inbox.rules import RULES, Rules
from restante.inbox.settle import settle_many
from restante.storage.engine import make_engine
from restante.storage.ids import Prefix, decode_id, new_id
from restante.storage.tables import metadata
from restante.storage.transaction import Database

SLUG = "bench"


@dataclass(frozen=True)
class Cost:
    """Of one call, in microseconds: wall, this process's processor time, the database's."""

    wall: float
    client: float
    server: float


class Raw:
    """The floor."""

    def __init__(self, url: str) -> None:
        parts = make_url(url)
        self.connection = raw.connect(parts.host, parts.port, parts.database)
        self.recipient = new_id()
        raw.make_tables(url)
        raw.add_inboxes(self.connection, [self.recipient])

    def publish(self, bodies: list[bytes]) -> None:
        raw.publish(self.connection, self.recipient, bodies)

    def claim(self, limit: int) -> object:
        return raw.claim(self.connection, self.recipient, limit)

    def ack(self, claimed: object) -> None:
        raw.ack(self.connection, self.recipient, [(e, g) for e, _, g, _ in claimed])


class Engine:
    """The product's verbs, each in a unit of work."""

    def __init__(self, url: str) -> None:
        rules = Rules(max_pending=100_000_000)  # the large inbox of growth.py is no fault
        self.database = Database(
            make_engine(url, slots=2, read_timeout_seconds=300), info={RULES: rules}
        )
        metadata.create_all(self.database.engine)
        self.database.run(self._enrol)

    def _enrol(self, session) -> None:
        tenant = create_tenant(session, "bench", require_signatures=False)
        create_project(session, tenant.id, SLUG)
        made = create_agent(
            session,
            tenant.id,
            name="bench",
            grants=[f"agent:{SLUG}:read", f"agent:{SLUG}:claim"],
        )
        projects = projects_of(session, tenant.id)
        self.project: Project = projects[SLUG]
        self.agent = Principal(
            tenant.id,
            PrincipalKind.AGENT,
            made.id,
            "bench",
            frozenset({ProjectScope(SLUG, Verb.READ), ProjectScope(SLUG, Verb.CLAIM)}),
            projects,
        )
        self.producer = Principal(
            tenant.id,
            PrincipalKind.SERVICE,
            new_id(),
            "producer",
            frozenset({TenantScope.EVENTS_PUBLISH}),
            projects,
        )

    def publish(self, bodies: list[bytes], *, priority: int = 0) -> None:
        about = {"recipients": (self.agent.id,), "project": SLUG, "type": "bench"}
        publications = [Publication(**about, priority=priority, payload=body) for body in bodies]
        self.database.run(lambda s: publish(s, self.producer, publications))

    def claim(self, limit: int) -> object:
        request = ClaimRequest(projects=(self.project,), limit=limit, consumer="bench")
        return self.database.run(lambda s: claim(s, self.agent, request)).events

    def ack(self, claimed: list[bytes]) -> None:
        events = [orjson.loads(event) for event in claimed]
        orders = [
            Ack(decode_id(Prefix.EVENT, e["event_id"]), e["claim_generation"]) for e in events
        ]
        self.database.run(lambda s: settle_many(s, self.agent, orders))


def measure(sides: dict, batch: int, rounds: int, calls: int, server_pid: int) -> dict:
    """{side: {verb: Cost}}, medians over interleaved rounds."""
    bodies = payloads(1)
    samples: dict[str, dict[str, list[Cost]]] = {name: {} for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            batches = [[next(bodies) for _ in range(batch)] for _ in range(calls)]
            held: list[object] = []
            for verb, work in (
                ("publish", lambda i, side=side, batches=batches: side.publish(batches[i])),
                ("claim", lambda _, side=side, held=held: held.append(side.claim(batch))),
                ("ack", lambda i, side=side, held=held: side.ack(held[i])),
            ):
                samples[name].setdefault(verb, []).append(_cost(work, calls, server_pid))
    return {
        name: {
            verb: Cost(
                median(c.wall for c in costs),
                median(c.client for c in costs),
                median(c.server for c in costs),
            )
            for verb, costs in verbs.items()
        }
        for name, verbs in samples.items()
    }


def _cost(work: Callable[[int], object], calls: int, server_pid: int) -> Cost:
    wall, mine, theirs = time.perf_counter(), time.process_time(), processor_seconds(server_pid)
    for i in range(calls):
        work(i)
    return Cost(
        (time.perf_counter() - wall) * 1e6 / calls,
        (time.process_time() - mine) * 1e6 / calls,
        (processor_seconds(server_pid) - theirs) * 1e6 / calls,
    )
