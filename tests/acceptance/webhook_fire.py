"""Deliveries under fire: relays, receivers and the database are killed while events are delivered."""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
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
from tests.acceptance.webhook_receiver import NAME, Arrival, Receiver
from tests.engine.hooks import VERBS, Hooks
from tests.factories import Mailbox, make_tenant
from tests.support.processes import Process
from tests.support.serving import ROOT, environment
from tests.support.waiting import wait_until

LATER_SECONDS = 70
"""So far ahead of the one before it is the clock of a relay that follows one that was killed."""
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
    events=200, agents=5, receivers=2, relays=2, ended=2, kills={"relay": 2, "receiver": 1}
)
FULL = Load(
    events=5_000,
    agents=25,
    receivers=3,
    relays=3,
    ended=5,
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
    relays: list[Process] = field(default_factory=list)
    mail: list[tuple[Mailbox, Callback]] = field(default_factory=list)
    published: dict[str, Callback] = field(default_factory=dict)
    starts: int = 0

    def __post_init__(self) -> None:
        self._randomly = random.Random(self.seed)
        self._victim = threading.Lock()
        self._wanted = 0
        authority = trustme.CA()
        authority.cert_pem.write_to_path(str(self.folder / "ca.pem"))
        self.receivers = [
            Receiver(authority, self.arrivals, self._freeze, self._kill)
            for _ in range(self.load.receivers)
        ]
        allowed = ",".join(f"{NAME}:{receiver.port}" for receiver in self.receivers)
        self._settings = {
            "RESTANTE_EGRESS_ALLOW": allowed,
            "RESTANTE_EGRESS_CA_FILE": str(self.folder / "ca.pem"),
        }
        self._frozen: dict[int, Process] = {}

    def begin(self) -> None:
        """Agents with active callbacks, and the relays."""
        policy = Policy(allowance=parse_allowance(self._settings["RESTANTE_EGRESS_ALLOW"]))
        hooks = Hooks(self.database, policy=policy)  # challenged by what touches no network
        tenants = [make_tenant(self.database) for _ in range(3)]
        for number in range(self.load.agents):
            box = tenants[number % 3].agent(verbs=VERBS)
            port = self.receivers[number % self.load.receivers].port
            one = hooks.active(box, url=f"https://{NAME}:{port}/{number}")
            self.mail.append((box, one))
            self._run(lambda s: s.connection().execute(delete(callback_challenge)))
        self._hooks = hooks
        self.relays = [self._relay() for _ in range(self.load.relays)]

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
        self._wanted += 1
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
        self._follow()
        for one in self._patiently(self._suspended):
            self._patiently(lambda o=one: self._hooks.decide(o, Step.RESUME))  # type: ignore[misc]  # bound now
        left = self._patiently(self._unfinished)
        return not strikes.plan and not self._wanted and left == 0

    def end(self) -> None:
        for relay in [*self.relays, *self._frozen.values()]:
            relay.kill_group()
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

    def _freeze(self, port: int) -> None:
        """A relay that is to be killed stops before its receiver answers: the 200 is never read."""
        with self._victim:
            if not self._wanted:
                return
            for relay in self.relays:
                if holds_port(relay.pid, port):
                    self._wanted -= 1
                    relay.signal(signal.SIGSTOP)
                    self._frozen[threading.get_ident()] = relay
                    self.relays.remove(relay)
                    return

    def _kill(self) -> None:
        with self._victim:
            relay = self._frozen.pop(threading.get_ident(), None)
        if relay is not None:
            os.kill(relay.pid, signal.SIGKILL)

    def _follow(self) -> None:
        while len(self.relays) < self.load.relays and not self._frozen:
            self.relays.append(self._relay())

    def _relay(self) -> Process:
        ahead = max(0, self.starts + 1 - self.load.relays) * LATER_SECONDS
        self.starts += 1
        return Process(
            [sys.executable, "-m", "tests.acceptance.webhook_relay", str(ahead)],
            log=self.folder / f"relay-{self.starts}.log",
            env=environment(self.url, self._settings),
            cwd=ROOT,
        )

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


def path_of(one: Callback) -> str:
    """Where its receiver is asked."""
    return "/" + one.url.rpartition("/")[2]


def holds_port(pid: int, port: int) -> bool:
    """Whether a process has the connection that goes out from this port of 127.0.0.1."""
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if int(fields[1].rpartition(":")[2], 16) == port:
            wanted = f"socket:[{fields[9]}]"
            with suppress(OSError):
                return wanted in [str(one.readlink()) for one in Path(f"/proc/{pid}/fd").iterdir()]
    return False


def told(arrivals: Sequence[Arrival]) -> dict[str, list[Arrival]]:
    """The deliveries of each event, in order."""
    found: dict[str, list[Arrival]] = {}
    for one in arrivals:
        found.setdefault(one.told["event_id"], []).append(one)
    return found
