"""Deliveries under fire: relays, receivers and the database are killed while events are delivered."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import trustme
from sqlalchemy import delete, select

from restante.audit.entries import IN_PROCESS
from restante.egress.allowance import parse_allowance
from restante.egress.policy import Policy
from restante.errors import OutcomeUnknown, Overloaded
from restante.inbox.lifecycle import Gate
from restante.storage.ids import Prefix, encode_id
from restante.storage.tables.callbacks import callback, callback_challenge
from restante.storage.tables.events import agent_inbox
from restante.storage.transaction import Database, Session
from restante.webhooks import registration
from restante.webhooks.callbacks import Callback
from restante.webhooks.states import Status, Step
from tests.acceptance.strikes import Strikes
from tests.acceptance.webhook_receiver import NAME, Arrival, Receiver, path_of
from tests.acceptance.webhook_relays import Relays
from tests.engine.hooks import VERBS, Hooks
from tests.factories import Mailbox, make_tenant
from tests.support.serving import environment
from tests.support.waiting import wait_until

RECEIVER_DOWN_SECONDS = 0.3
LIMIT_SECONDS = 1800.0
BATCH = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """How much of it. `ended`: callbacks that are removed or rejected on the way."""

    events: int
    agents: int
    receivers: int
    relays: int
    ended: int
    kills: Mapping[str, int]


SHORT = Load(
    events=100, agents=5, receivers=2, relays=2, ended=2, kills={"relay": 1, "receiver": 1}
)
FULL = Load(
    events=6_000,  # 5,000 of them to the agents whose callbacks stay
    agents=24,
    receivers=3,
    relays=3,
    ended=4,
    kills={"relay": 10, "receiver": 10, "database": 1},
)


@dataclass
class Held:
    """Which claims a callback held when its end committed: those may have been on their way."""

    path: str
    claims: set[tuple[str, int]]
    number: int


@dataclass(repr=False)
class WebhookFire:
    """The processes of one run, and what receivers saw."""

    database: Database
    url: str
    folder: Path
    load: Load
    seed: int
    arrivals: list[Arrival] = field(default_factory=list)
    ends: list[Held] = field(default_factory=list)
    relays: Relays = field(init=False)
    mail: list[tuple[Mailbox, Callback]] = field(default_factory=list)
    published: dict[str, Callback] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._randomly = random.Random(self.seed)
        authority = trustme.CA()
        authority.cert_pem.write_to_path(str(self.folder / "ca.pem"))
        self.receivers = [Receiver(authority, self.arrivals) for _ in range(self.load.receivers)]
        self._allowed = ",".join(f"{NAME}:{receiver.port}" for receiver in self.receivers)
        settings = {
            "RESTANTE_EGRESS_ALLOW": self._allowed,
            "RESTANTE_EGRESS_CA_FILE": str(self.folder / "ca.pem"),
        }
        self.relays = Relays(environment(self.url, settings), self.folder, self.load.relays)
        for receiver in self.receivers:
            receiver.before_answer = self.relays.freeze
            receiver.after_answer = self.relays.kill_frozen

    def begin(self) -> None:
        """Agents with active callbacks, and the relays."""
        policy = Policy(allowance=parse_allowance(self._allowed))
        hooks = Hooks(self.database, policy=policy)  # challenged by what touches no network
        tenants = [make_tenant(self.database) for _ in range(3)]
        for number in range(self.load.agents):
            box = tenants[number % 3].agent(verbs=VERBS)
            port = self.receivers[number % self.load.receivers].port
            one = hooks.active(box, url=f"https://{NAME}:{port}/{number}")
            self.mail.append((box, one))
            self._run(lambda s: s.connection().execute(delete(callback_challenge)))
        self._hooks = hooks
        self.relays.follow()

    def publish(self, count: int) -> None:
        """So many events, to agents by turns; repeated with their keys where an answer is lost."""
        for _ in range(0, count, BATCH):
            box, one = self.mail[len(self.published) // BATCH % len(self.mail)]
            keys = [f"k{len(self.published) + i}" for i in range(BATCH)]
            events = [box.publication(idempotency_key=key, max_attempts=100) for key in keys]
            made = self._patiently(lambda b=box, e=events: b.publish_many(e))  # type: ignore[misc]  # bound now
            self.published |= {encode_id(Prefix.EVENT, event.event_id): one for event in made}

    def kill_relay(self) -> str:
        """The next delivery's: between the receiver's 200 and the ack of the relay that sent it."""
        self.relays.wanted += 1
        box, one = self.mail[-1]  # so that there is a next one
        event = self._patiently(lambda: box.publish(max_attempts=100))
        self.published[encode_id(Prefix.EVENT, event.event_id)] = one
        return "relay, at its next delivery"

    def kill_receiver(self) -> str:
        receiver = self._randomly.choice(self.receivers)
        receiver.kill()
        time.sleep(RECEIVER_DOWN_SECONDS)
        receiver.start()
        return f"receiver at {receiver.port}"

    def end_callbacks(self) -> str:
        """Remove one, reject the next, and so on; events for their agents still come."""
        for number in range(self.load.ended):
            box, one = self.mail[number]
            step = Step.REMOVE if number % 2 else Step.REJECT
            self.ends.append(self._patiently(lambda b=box, o=one, s=step: self._end(b, o, s)))  # type: ignore[misc]  # bound now
        return f"{self.load.ended} callbacks ended"

    def is_done(self, strikes: Strikes) -> bool:
        """Strike what is due, resume what was suspended; tell whether all is delivered."""
        strikes.due(self._progress())
        self.relays.follow()
        for one in self._patiently(self._suspended):
            self._patiently(lambda o=one: self._hooks.decide(o, Step.RESUME))  # type: ignore[misc]  # bound now
        left = self._patiently(self._unfinished)
        return not strikes.plan and not self.relays.wanted and left == 0

    def end(self) -> None:
        self.relays.end()
        for receiver in self.receivers:
            receiver.kill()

    def _end(self, box: Mailbox, one: Callback, step: Step) -> Held:
        """End it, and look which claims it held as of that commit."""

        def work(session: Session) -> set[tuple[str, int]]:
            if step is Step.REMOVE:
                registration.remove(session, box.agent, one.id, by=IN_PROCESS)
            else:
                self._hooks.decide_in(session, one, step)
            held = select(agent_inbox.c.event_id, agent_inbox.c.claim_generation).where(
                agent_inbox.c.recipient_id == box.id, agent_inbox.c.gate == Gate.CLAIMED.value
            )
            rows = session.connection().execute(held)
            return {(encode_id(Prefix.EVENT, row[0]), row[1]) for row in rows}

        claims = self._run(work)
        return Held(path_of(one), claims, time.monotonic_ns())

    def _progress(self) -> float:
        """Which part of what callbacks that stay are to deliver has come."""
        stays = {path_of(one) for _, one in self.mail[self.load.ended :]}
        come = {one.message_id for one in self.arrivals if one.path in stays}
        share = len(stays) / self.load.agents
        return len(come) / (self.load.events * share)

    def _suspended(self) -> list[Callback]:
        query = select(callback.c.callback_id).where(callback.c.status == Status.SUSPENDED.value)
        ids = set(self._run(lambda s: list(s.connection().execute(query).scalars())))
        return [one for _, one in self.mail if one.id in ids]

    def _unfinished(self) -> int:
        """Events of callbacks that are there which are not completed yet."""
        boxes = [box.id for box, _ in self.mail[self.load.ended :]]
        query = select(agent_inbox.c.event_id).where(
            agent_inbox.c.recipient_id.in_(boxes), agent_inbox.c.gate != Gate.COMPLETED.value
        )
        return len(self._run(lambda s: s.connection().execute(query).all()))

    def _run(self, work: Callable[[Session], Any]) -> Any:
        return self.database.run(work)

    def _patiently(self, work: Callable[[], Any]) -> Any:
        """Through the death of a database."""
        end = time.monotonic() + 60
        while True:
            try:
                return work()
            except (Overloaded, OutcomeUnknown):
                if time.monotonic() > end:
                    raise
                time.sleep(0.2)


def burn(
    fire: WebhookFire,
    *,
    say: Callable[[str], None],
    limit_seconds: float,
    others: Mapping[str, Callable[[], str]] | None = None,
) -> WebhookFire:
    """Run it to the end; the ledger (webhook_ledger.py) then says whether the books are right."""
    carry_out = {
        "relay": fire.kill_relay,
        "receiver": fire.kill_receiver,
        "end": fire.end_callbacks,
        **(others or {}),
    }
    plan = {**fire.load.kills, "end": 1}
    strikes = Strikes.draw(plan, carry_out, seed=fire.seed, say=say)
    try:
        fire.begin()
        publisher = threading.Thread(target=fire.publish, args=(fire.load.events,), daemon=True)
        publisher.start()
        wait_until(
            lambda: fire.is_done(strikes) and not publisher.is_alive(),
            "all is delivered",
            timeout_seconds=limit_seconds,
        )
    finally:
        fire.end()
    return fire


def told(arrivals: Sequence[Arrival]) -> dict[str, list[Arrival]]:
    """The deliveries of each event, in order."""
    found: dict[str, list[Arrival]] = {}
    for one in arrivals:
        found.setdefault(one.told["event_id"], []).append(one)
    return found
