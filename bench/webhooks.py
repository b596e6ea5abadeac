"""Webhooks: what three receivers that hang, refuse or drip do to the deliveries of all others."""

from __future__ import annotations

import random
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import trustme
from sqlalchemy import delete

from restante.egress.allowance import parse_allowance
from restante.egress.policy import Policy
from restante.storage.engine import make_engine
from restante.storage.ids import Prefix, encode_id
from restante.storage.tables.callbacks import callback_challenge
from restante.storage.transaction import Database
from restante.webhooks.callbacks import Callback
from restante.webhooks.states import Step
from tests.engine.hooks import VERBS, Hooks
from tests.factories import Mailbox, make_tenant
from tests.support.ports import free_port
from tests.support.processes import Process
from tests.support.servers import Server
from tests.support.serving import RESTANTE, ROOT, RestanteCommand, environment
from tests.support.waiting import wait_until

WELL, BAD = 197, 3
EVENTS_A_SECOND = 10.0
SLICES = 6
MOST = 1.5


@dataclass(frozen=True)
class Deliveries:
    """From the publish's commit to the receiver, in milliseconds: of 197 alone, and beside the three."""

    kind: str
    events: int
    alone_p50_ms: float
    alone_p99_ms: float
    beside_p50_ms: float
    beside_p99_ms: float

    @property
    def ratio(self) -> float:
        """How many times as long the p99 is beside the three."""
        return self.beside_p99_ms / self.alone_p99_ms

    def told(self) -> dict[str, Any]:
        """For the result file."""
        return {**asdict(self), "ratio": self.ratio}


def measure(server: Server, folder: Path, *, seconds: float) -> Deliveries:
    """One relay (`restante maintain`) and 200 callbacks of ten tenants; `seconds` is each half's length.

    The halves take turns in slices, so that what else the machine does is in both.
    """
    folder.mkdir(parents=True, exist_ok=True)
    authority, url = trustme.CA(), server.create_database("bench_webhooks")
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    authority.issue_cert("localhost").private_key_and_cert_chain_pem.write_to_path(
        str(folder / "receiver.pem")
    )
    receiver = Process(
        [sys.executable, "-m", "bench.webhook_receiver", folder / "receiver.pem", folder / "port"],
        log=folder / "deliveries.log",
        cwd=ROOT,
    )
    relay, engine = None, make_engine(url, slots=2)
    try:
        port = int(wait_until(lambda: _text(folder / "port"), "the receiver"))
        refusing = free_port()
        settings = {
            "RESTANTE_EGRESS_ALLOW": f"localhost:{port},localhost:{refusing}",
            "RESTANTE_EGRESS_CA_FILE": str(folder / "ca.pem"),
        }
        RestanteCommand(url, settings=settings).upgrade()
        policy = Policy(allowance=parse_allowance(settings["RESTANTE_EGRESS_ALLOW"]))
        hooks = Hooks(Database(engine), policy=policy)  # challenged by what touches no network
        well, bad, bad_ones = _callbacks(hooks, port, refusing)
        relay = Process(
            [RESTANTE, "maintain"],
            log=folder / "relay.log",
            env=environment(url, settings),
            cwd=ROOT,
        )
        log = folder / "deliveries.log"
        _published(log, well, [], 5.0)
        alone: list[float] = []
        beside: list[float] = []
        for _ in range(SLICES):
            for one in bad_ones:
                hooks.decide(one, Step.SUSPEND)
            alone += _published(log, well, [], seconds / SLICES)
            for one in bad_ones:
                hooks.decide(one, Step.RESUME)
            beside += _published(log, well, bad, seconds / SLICES)
        return Deliveries(
            kind=server.kind,
            events=len(alone) + len(beside),
            alone_p50_ms=_quantile(alone, 0.5),
            alone_p99_ms=_quantile(alone, 0.99),
            beside_p50_ms=_quantile(beside, 0.5),
            beside_p99_ms=_quantile(beside, 0.99),
        )
    finally:
        engine.dispose()
        receiver.kill()
        if relay is not None:
            relay.stop()


def _callbacks(
    hooks: Hooks, port: int, refusing: int
) -> tuple[list[Mailbox], list[Mailbox], list[Callback]]:
    """Agents whose receivers are well, and three others, with the callbacks of these."""
    database = hooks.database
    tenants = [make_tenant(database) for _ in range(10)]
    paths = [f"{port}/{number}" for number in range(WELL)]
    paths += [f"{port}/hang", f"{refusing}/refuse", f"{port}/drip"]
    boxes, made = [], []
    for number, path in enumerate(paths):
        box = tenants[number % 10].agent(verbs=VERBS)
        made.append(hooks.active(box, url=f"https://localhost:{path}"))
        database.run(lambda s: s.connection().execute(delete(callback_challenge)))
        boxes.append(box)
    return boxes[:WELL], boxes[WELL:], made[WELL:]


def _published(log: Path, well: list[Mailbox], bad: list[Mailbox], seconds: float) -> list[float]:
    """Publish at an even pace to one at random → milliseconds to each delivery of those that are well.

    First one to each of the bad, which are few.
    """
    for box in bad:
        box.publish()
    committed: dict[str, int] = {}
    every, began, number = [*well, *bad], time.monotonic(), 0
    while (due := began + number / EVENTS_A_SECOND) < began + seconds:
        time.sleep(max(0.0, due - time.monotonic()))
        number += 1
        box = random.choice(every)
        event_id = encode_id(Prefix.EVENT, box.publish().event_id)
        if box in well:
            committed[event_id] = time.time_ns()
    came = wait_until(lambda: _came(log, committed), "all deliveries", timeout_seconds=120)
    return [max(0, came[one] - at) / 1e6 for one, at in committed.items()]


def _came(log: Path, wanted: dict[str, int]) -> dict[str, int] | None:
    lines = [line.split() for line in log.read_text().splitlines() if line.startswith("evt_")]
    came: dict[str, int] = {}
    for event_id, at in lines:
        came.setdefault(event_id, int(at))
    return came if came.keys() >= wanted.keys() else None


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def _quantile(values: list[float], part: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]
