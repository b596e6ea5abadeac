"""The doorbell: from commit to frame on one host and from another, and what ten thousand idle streams cost.

The other host is a second `restante serve` on the same database that has no folder in common with the first.
"""

from __future__ import annotations

import http.client
import random
import shutil
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.listeners import Listeners, allow_sockets
from bench.payloads import payloads
from bench.product import Agent, Product
from bench.quiet import quiet
from bench.sides import HTTPClient
from tests.support.servers import Server
from tests.support.serving import Served

STREAMS_OF_AN_AGENT = 8
LEAST_PAUSE_SECONDS = 0.02
FRAME_SECONDS = 5.0
PROBE_SECONDS = 0.02

MOST_P50_MS = 5.0
MOST_P99_MS = 50.0
MOST_ELSEWHERE_P99_MS = 500.0
MOST_RSS_KB = 22.0
MOST_PROBE = 2.0
MOST_STATEMENTS = 1.5
FEW = 100
"""So many streams ask the database about as much as all of them."""


@dataclass(frozen=True)
class Doorbell:
    """What one server did, lengths in milliseconds.

    `frame_*`: from the publish's request to the frame; `after_*`: from its answer, 0 where the frame
    was first; `elsewhere_*`: as `frame_*`, published at another host. `probe_*`: the p99 of a small call.
    `rss_kb`: of one stream, in KiB. `statements`, `few_statements`: a second, while nothing happens, with
    `idle` streams and with 100; `idle_percent`, `few_percent`: of one core that the workers took for it.
    """

    kind: str
    ringing: int
    frame_p50_ms: float
    frame_p99_ms: float
    after_p50_ms: float
    after_p99_ms: float
    elsewhere_p50_ms: float
    elsewhere_p99_ms: float
    idle: int
    rss_kb: float
    few_statements: float
    statements: float
    few_percent: float
    idle_percent: float
    probe_p99_ms: float
    probe_loaded_p99_ms: float

    @property
    def probe_ratio(self) -> float:
        """How many times as long a call takes with the streams open."""
        return self.probe_loaded_p99_ms / self.probe_p99_ms

    @property
    def statements_ratio(self) -> float:
        """How many times as many statements all streams cost as 100 of them."""
        return self.statements / self.few_statements

    def told(self) -> dict[str, Any]:
        """For the result file."""
        ratios = {"probe_ratio": self.probe_ratio, "statements_ratio": self.statements_ratio}
        return {**asdict(self), **ratios}


def measure(
    server: Server, folder: Path, *, ringing: int, idle: int, rings: int, seconds: float
) -> Doorbell:
    """One server of two workers; `seconds` is how long each probe and each count of statements lasts."""
    allow_sockets(idle)
    product = Product(server.create_database("bench_doorbell"), folder)
    try:
        agents = product.agents(-(-idle // STREAMS_OF_AN_AGENT))
        prober = agents[-1]
        rung = agents[: -(-ringing // STREAMS_OF_AN_AGENT)]
        frames, after = _ring(product, rung, ringing, rings, port=product.port)
        elsewhere = _rung_elsewhere(product, folder, rung, ringing, max(20, rings // 3))
        time.sleep(2)  # what the first streams left behind is tidied up
        _probe(product, prober, 1.0)
        unloaded = _probe(product, prober, seconds)
        listeners = Listeners(product.port, _spread(agents, FEW))
        try:
            few = quiet(server, product, seconds, listeners.listen)
        finally:
            listeners.close()
        before = _rss(product)
        listeners = Listeners(product.port, _spread(agents, idle))
        try:
            held = _rss(product) - before
            all_idle = quiet(server, product, seconds, listeners.listen)
            loaded = _probed_beside(product, prober, seconds, listeners)
        finally:
            listeners.close()
        return Doorbell(
            kind=server.kind,
            ringing=ringing,
            frame_p50_ms=_quantile(frames, 0.5),
            frame_p99_ms=_quantile(frames, 0.99),
            after_p50_ms=_quantile(after, 0.5),
            after_p99_ms=_quantile(after, 0.99),
            elsewhere_p50_ms=_quantile(elsewhere, 0.5),
            elsewhere_p99_ms=_quantile(elsewhere, 0.99),
            idle=idle,
            rss_kb=held / idle,
            few_statements=few.statements,
            statements=all_idle.statements,
            few_percent=few.percent,
            idle_percent=all_idle.percent,
            probe_p99_ms=_quantile(unloaded, 0.99),
            probe_loaded_p99_ms=_quantile(loaded, 0.99),
        )
    finally:
        product.stop()


def _rung_elsewhere(
    product: Product, folder: Path, agents: Sequence[Agent], count: int, rings: int
) -> list[float]:
    """As `_ring`, published at another host."""
    meeting = tempfile.mkdtemp(prefix="bench-")  # short: sockets are made in it
    apart = {
        "RESTANTE_PUBLIC_URL": product.served.url,
        "RESTANTE_INSTANCE": str(folder / "elsewhere"),
        "XDG_RUNTIME_DIR": meeting,
    }
    there = Served(product.url, log=folder / "elsewhere.log", settings=apart)
    try:
        there.wait_until_ready()
        frames, _ = _ring(product, agents, count, rings, port=there.port)
        return frames
    finally:
        there.stop()
        shutil.rmtree(meeting, ignore_errors=True)


def _spread(agents: Sequence[Agent], count: int) -> list[Agent]:
    return [agents[n % len(agents)] for n in range(count)]


def _ring(
    product: Product, agents: Sequence[Agent], count: int, rings: int, *, port: int
) -> tuple[list[float], list[float]]:
    """Publish to one agent after another, at `port` → seconds to each frame, from request and answer."""
    listeners = Listeners(product.port, _spread(agents, count))
    bodies = payloads(8)
    frames: list[float] = []
    after: list[float] = []
    try:
        clients = {
            agent.agent_id: HTTPClient("127.0.0.1", port, agent.agent_id, agent.tokens)
            for agent in agents
        }
        for number in range(-10, rings):
            agent = random.choice(agents)
            client = clients[agent.agent_id]
            waiting = list(listeners.of(agent))
            cursor = max(stream.cursor for stream in waiting)
            answered: list[float] = []
            asked = time.monotonic()
            publisher = threading.Thread(target=_publish, args=(client, next(bodies), answered))
            publisher.start()
            ends = asked + FRAME_SECONDS
            while any(stream.cursor <= cursor for stream in waiting):
                listeners.listen(0.01)
                if time.monotonic() > ends:
                    raise RuntimeError(f"no frame within {FRAME_SECONDS} s of a publish")
            publisher.join()
            if number >= 0:
                frames += [stream.heard_at - asked for stream in waiting]
                after += [max(0.0, stream.heard_at - answered[0]) for stream in waiting]
            client.ack(client.claim(10))
            client.close()
            ends = time.monotonic() + LEAST_PAUSE_SECONDS
            while time.monotonic() < ends:
                listeners.listen(0.005)
    finally:
        listeners.close()
    return frames, after


def _publish(client: HTTPClient, body: bytes, answered: list[float]) -> None:
    client.publish([body])
    answered.append(time.monotonic())


def _probe(product: Product, agent: Agent, seconds: float) -> list[float]:
    """A small call again and again → seconds of each."""
    connection = http.client.HTTPConnection("127.0.0.1", product.port, timeout=30)
    path = f"/api/v1/agents/{agent.agent_id}/inbox?limit=1"
    headers = {"Authorization": f"Bearer {agent.tokens.claim}"}
    laps: list[float] = []
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        began = time.monotonic()
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        answer.read()
        laps.append(time.monotonic() - began)
        if answer.status != 200:
            raise RuntimeError(f"GET {path}: {answer.status}")
        time.sleep(PROBE_SECONDS)
    connection.close()
    return laps


def _probed_beside(
    product: Product, agent: Agent, seconds: float, listeners: Listeners
) -> list[float]:
    laps: list[float] = []
    prober = threading.Thread(target=lambda: laps.extend(_probe(product, agent, seconds)))
    prober.start()
    while prober.is_alive():
        listeners.listen(0.1)
    return laps


def _rss(product: Product) -> float:
    """What the workers have in memory, in KiB."""
    total = 0
    for pid in product.served.worker_pids():
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                total += int(line.split()[1])
    return float(total)


def _quantile(seconds: Sequence[float], q: float) -> float:
    ordered = sorted(seconds)
    return 1000 * ordered[min(len(ordered) - 1, int(q * len(ordered)))]
