"""The product's three rows on one database server: the raw statements, the engine in process, HTTP."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import orjson

from bench.peers.peer import Peer
from bench.product import Agent
from bench.sides import PROJECT, Client
from bench.throughput import Stage
from restante.errors import RestanteError
from restante.identity.principal import Principal, PrincipalKind
from restante.identity.projects import projects_of
from restante.identity.scopes import ProjectScope, TenantScope, Verb
from restante.inbox.claim import ClaimRequest, claim
from restante.inbox.in_flight import HELD, InFlight
from restante.inbox.known_recipients import KNOWN, Known
from restante.inbox.orders import Ack
from restante.inbox.publication import Publication
from restante.inbox.publish import publish
from restante.inbox.rules import RULES, Rules
from restante.inbox.settle import settle_many
from restante.storage.engine import make_engine
from restante.storage.ids import Prefix, decode_id
from restante.storage.transaction import Database
from tests.support.servers import Server

SIDES = ("raw", "engine", "http")
FLUSHING = ("innodb_flush_log_at_trx_commit", "sync_binlog", "log_bin", "innodb_doublewrite")


class Own(Peer):
    """One side of a stage of throughput.py; the engine works in the database that is served."""

    def __init__(self, stage: Stage, side: str) -> None:
        self.stage, self.side = stage, side
        self.name = f"{side}-{stage.server.kind}"
        asked = settings(stage.server)
        self.durable = asked["innodb_flush_log_at_trx_commit"] == "1" and (
            asked["log_bin"] == "OFF" or asked["sync_binlog"] == "1"
        )
        self.said = " ".join(f"{name}={value}" for name, value in asked.items())

    def opener(self, clients: int) -> Callable[[int], Client]:
        if self.side != "engine":
            return self.stage.opener("restante" if self.side == "http" else self.side, clients)
        product = self.stage.product
        assert product
        agents = product.agents(clients)
        projects = product.database.run(lambda session: projects_of(session, product.tenant_id))
        producer = Principal(
            product.tenant_id,
            PrincipalKind.SERVICE,
            product.producer.id,
            "producer",
            frozenset({TenantScope.EVENTS_PUBLISH}),
            projects,
        )
        product.database.engine.dispose()  # a child must not find its connections
        return lambda number: EngineClient(product.url, producer, agents[number])

    def processes(self) -> list[int]:
        return self.stage.processes("restante" if self.side == "http" else self.side)


class EngineClient:
    """The engine's verbs without HTTP, as the product wires them, on one connection."""

    def __init__(self, url: str, producer: Principal, agent: Agent) -> None:
        info = {RULES: Rules(), HELD: InFlight(), KNOWN: Known()}
        self.database = Database(make_engine(url, slots=1), info=info)
        self.producer = producer
        scopes = frozenset(ProjectScope(PROJECT, verb) for verb in (Verb.READ, Verb.CLAIM))
        self.agent = Principal(
            producer.tenant_id,
            PrincipalKind.AGENT,
            agent.raw_id,
            "agent",
            scopes,
            producer.projects,
        )

    def publish(self, bodies: Sequence[bytes]) -> None:
        recipients = (self.agent.id,)
        publications = [
            Publication(recipients=recipients, project=PROJECT, type="bench", payload=body)
            for body in bodies
        ]
        self.database.run(partial(_publish, self.producer, publications))

    def claim(self, limit: int) -> Sequence[Any]:
        wanted = (self.agent.projects[PROJECT],)
        request = ClaimRequest(projects=wanted, limit=limit, consumer="bench")
        taken = self.database.run(lambda session: claim(session, self.agent, request))
        return [orjson.loads(event) for event in taken.events]

    def ack(self, claimed: Sequence[Any]) -> None:
        orders = [
            Ack(decode_id(Prefix.EVENT, event["event_id"]), event["claim_generation"])
            for event in claimed
        ]
        outcomes = self.database.run(lambda session: settle_many(session, self.agent, orders))
        if any(isinstance(outcome, RestanteError) for outcome in outcomes):
            raise RuntimeError(f"an ack was not taken: {outcomes[:2]}")

    def payloads(self, claimed: Sequence[Any]) -> list[bytes | dict[str, Any]]:
        return [event["payload"] for event in claimed]

    def close(self) -> None:
        self.database.engine.dispose()


def _publish(producer: Principal, publications: Sequence[Publication], session: Any) -> object:
    return publish(session, producer, publications)


def settings(server: Server) -> dict[str, str]:
    """What the server says of its version and its flushing."""
    names = ",".join(f"'{name}'" for name in ("version", *FLUSHING))
    rows = server.execute(f"SHOW GLOBAL VARIABLES WHERE variable_name IN ({names})")
    return {str(name): str(value) for name, value in rows}
