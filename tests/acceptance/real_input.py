"""Real input: GitHub's webhook bodies for agents that are away, come back, and are killed at work."""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from restante_agent.client import Client
from restante_agent.errors import RestanteError, StaleClaim
from restante_agent.model.publish import Publication
from restante_agent.wire.call import Call
from restante_agent.wire.step import Request
from tests.acceptance.arena import Arena
from tests.acceptance.away import Away
from tests.acceptance.fire_consumer import PATIENT
from tests.acceptance.github_bodies import Body
from tests.acceptance.roster import enrol
from tests.acceptance.strikes import Strikes
from tests.support.waiting import wait_until

LIMIT_SECONDS = 600.0
PROJECT = "github"
AGENTS = 4
BATCH = 25
KILLS = {"agent": 8, "web worker": 4, "database": 1}


@dataclass(repr=False)
class RealInput:
    """One run. `sent`: what was published, by event id."""

    arena: Arena
    bodies: Sequence[Body]
    say: Callable[[str], None]
    agents: list[Away] = field(default_factory=list)
    sent: dict[str, Body] = field(default_factory=dict)
    recipients: dict[str, Away] = field(default_factory=dict)
    stale: set[tuple[str, int]] = field(default_factory=set)
    outages: list[int] = field(default_factory=list)

    def publish(self) -> None:
        """All bodies, to agents that are away; the ordering key is the repository."""
        url = self.arena.served.url
        roster = enrol(self.arena, PROJECT, AGENTS)
        for number, member in enumerate(roster.agents):
            self.agents.append(Away(member, url, self.arena.folder / f"agent-{number}"))
        who = roster.producer.client_id, roster.producer.client_secret
        producer = Client(url, *who, retry=PATIENT)
        for start in range(0, len(self.bodies), BATCH):
            bodies = self.bodies[start : start + BATCH]
            agents = [self._agent_for(body) for body in bodies]
            publications = [_publication(b, a.id) for b, a in zip(bodies, agents, strict=True)]
            published = producer.publish_many(publications, idempotency_key=f"bodies-{start}")
            for event, body, agent in zip(published.events, bodies, agents, strict=True):
                self.sent[event.event_id] = body
                self.recipients[event.event_id] = agent

    def check_stored(self) -> None:
        """While they wait: what a reader gets holds each body byte for byte."""
        for agent in self.agents:
            page = self._pages(agent)
            texts = [
                body.text for event, body in self.sent.items() if self.recipients[event] is agent
            ]
            missing = [text[:80] for text in texts if b'"payload":' + text not in page]
            assert not missing, f"not kept as they were sent: {missing[:3]}"

    def is_done(self, strikes: Strikes) -> bool:
        """Strike what is due, have ghosts settle; tell whether all is completed."""
        completed = self.arena.number("SELECT COUNT(*) FROM agent_inbox WHERE gate = 6")
        strikes.due(completed / len(self.sent))
        self.haunt()
        for agent in self.agents:
            if agent.process is not None and not agent.process.is_running():
                raise AssertionError(f"{agent.id} ended:\n{agent.process.tail()}")
        return completed == len(self.sent) and not strikes.plan

    def haunt(self) -> None:
        """Settle for killed holders whose events others have claimed since: each must be refused."""
        rows = self.arena.rows("SELECT event_id, claim_generation FROM agent_inbox")
        present = {f"evt_{row.event_id.hex()}": row.claim_generation for row in rows}
        for agent in self.agents:
            for run in agent.runs():
                claim = run["event"], run["generation"]
                if claim in self.stale or present[run["event"]] <= run["generation"]:
                    continue
                try:
                    agent.client.ack(*claim)
                except StaleClaim:
                    self.stale.add(claim)
                except RestanteError as error:
                    self.say(f"a ghost was not heard: {error}")
                else:
                    raise AssertionError(f"a stale settle was accepted: {claim}")

    def kill_agent(self) -> str:
        return self.arena.randomly.choice(self.agents).kill()

    def kill_database(self) -> str:
        struck = self.arena.kill_database()
        self.outages.append(time.monotonic_ns())
        return struck

    def leave(self) -> None:
        """SIGTERM: agents end in order."""
        for agent in self.agents:
            assert agent.process is not None
            wait_until(agent.is_back, "the last one killed is back", timeout_seconds=60)
            code = agent.process.stop(timeout_seconds=60)
            assert code == 0, f"listen ended with {code}:\n{agent.process.tail()}"

    def end(self) -> None:
        for agent in self.agents:
            agent.client.close()
            if agent.process is not None:
                agent.process.kill_group()

    def _agent_for(self, body: Body) -> Away:
        """One repository of one edition belongs to one agent."""
        name = f"{body.edition}/{body.repository or body.name}"
        return self.agents[zlib.crc32(name.encode()) % AGENTS]

    def _pages(self, agent: Away) -> bytes:
        path, pages, cursor = f"/api/v1/agents/{agent.id}/inbox", b"", 0
        while True:
            query = {"after_cursor": str(cursor), "limit": "1000"}
            text = agent.client.perform(
                Call(Request(method="GET", path=path, query=query), lambda answer: answer.content)
            )
            page = json.loads(text)
            pages, cursor = pages + text, page["next_cursor"]
            if not page["has_more"]:
                return pages


def _publication(body: Body, recipient: str) -> Publication:
    return Publication(
        recipients=[recipient],
        project=PROJECT,
        type=body.name,
        payload=json.loads(body.text),  # its members are sorted now, and are sent as they stand
        ordering_key=body.repository,
        correlation_id=body.edition,
        max_attempts=100,
        backoff_base_seconds=0.2,
        backoff_max_seconds=1.0,
    )


def deliver(
    arena: Arena,
    bodies: Sequence[Body],
    *,
    seed: int,
    say: Callable[[str], None],
    kills: dict[str, int] | None = None,
) -> RealInput:
    """Publish, come back, be killed, and finish; real_input_ledger.py then looks at the books."""
    run = RealInput(arena, bodies, say)
    carry_out = {
        "agent": run.kill_agent,
        "web worker": arena.kill_web_worker,
        "database": run.kill_database,
    }
    strikes = Strikes.draw(kills or KILLS, carry_out, seed=seed, say=say)
    try:
        run.publish()
        say(f"{len(run.sent)} bodies wait for {AGENTS} agents that are away")
        run.check_stored()
        for agent in run.agents:
            agent.come_back()
        wait_until(lambda: run.is_done(strikes), "all is completed", timeout_seconds=LIMIT_SECONDS)
        run.leave()
        run.haunt()
        return run
    finally:
        run.end()
