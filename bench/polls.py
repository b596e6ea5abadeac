"""Held polls: how soon one is answered after a publish, and what two hundred cost while nothing happens.

What a wake is measured beside is the same two calls made by one who knows when: publish, then read.
"""

from __future__ import annotations

import http.client
import select
import socket
import threading
import time
from contextlib import ExitStack, closing, suppress
from dataclasses import asdict, dataclass
from itertools import cycle
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import orjson

from bench.payloads import payloads
from bench.product import Agent, Product
from bench.quiet import quiet
from bench.sides import HTTPClient
from tests.support.servers import Server

WAIT_SECONDS = 30
HELD = 200
MOST_WAKE = 1.5
"""A held poll is answered in so many times what a publish and a read take, one after the other."""
MOST_STATEMENTS = 24.0
"""Of a poll of thirty seconds that finds nothing, commits among them."""
AGENTS = 20
SETTLE_SECONDS = 0.1
"""By then a call is held."""


@dataclass(frozen=True)
class Polls:
    """Milliseconds from the publish's request to the poll's answer, and of a publish and a read.

    `statements`: a second with `held` polls waiting, each asked anew as it ends, and with none; `percent`:
    of one core.
    """

    kind: str
    wake_p50_ms: float
    wake_p99_ms: float
    calls_p50_ms: float
    wake_ratio: float
    held: int
    alone_statements: float
    statements: float
    alone_percent: float
    percent: float

    @property
    def poll_statements(self) -> float:
        """Of one poll, from its request to its answer."""
        return (self.statements - self.alone_statements) * WAIT_SECONDS / self.held

    def told(self) -> dict[str, Any]:
        """For the result file."""
        return {**asdict(self), "poll_statements": self.poll_statements}


class Reader:
    """An agent that reads, and whoever publishes to it."""

    def __init__(self, product: Product, agent: Agent) -> None:
        self.client = HTTPClient("127.0.0.1", product.port, agent.agent_id, agent.tokens)
        self._port, self._agent = product.port, agent
        self._cursor = 0

    def request(self, wait_seconds: int) -> str:
        """The path of a read behind all that was read."""
        return (
            f"/api/v1/agents/{self._agent.agent_id}/inbox?after_cursor={self._cursor}"
            f"&wait_seconds={wait_seconds}"
        )

    def read(self, wait_seconds: int = 0) -> float:
        """Read one event or more → when the answer was there."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        headers = {"Authorization": f"Bearer {self._agent.tokens.claim}"}
        connection.request("GET", self.request(wait_seconds), headers=headers)
        answer = connection.getresponse()
        content = answer.read()
        at = time.monotonic()
        connection.close()
        page = orjson.loads(content)
        if answer.status != 200 or not page["events"]:
            raise RuntimeError(f"a read got {answer.status} {content[:300]!r}")
        self._cursor = page["next_cursor"]
        self.client.ack(self.client.claim(10))
        return at

    def woken(self, body: bytes) -> float:
        """Seconds from a publish's request to the answer of the poll that waits for it."""
        answered: list[float] = []
        waiting = threading.Thread(target=lambda: answered.append(self.read(WAIT_SECONDS)))
        waiting.start()
        time.sleep(SETTLE_SECONDS)
        began = time.monotonic()
        self.client.publish([body])
        waiting.join()
        return answered[0] - began

    def both(self, body: bytes) -> float:
        """Seconds of a publish and a read."""
        began = time.monotonic()
        self.client.publish([body])
        return self.read() - began


def measure(server: Server, folder: Path, *, wakes: int, seconds: float) -> Polls:
    """Wakes and pairs of calls in turn; then each count of statements for so long."""
    with ExitStack() as stack:
        product = Product(server.create_database("bench_polls"), folder)
        stack.callback(product.stop)
        agents = product.agents(HELD)
        readers, bodies = [Reader(product, agent) for agent in agents[:AGENTS]], payloads(7)
        found = []
        for number, reader in zip(range(-5, wakes), cycle(readers), strict=False):
            one = reader.woken(next(bodies)), reader.both(next(bodies))
            found += [one] if number >= 0 else []
        alone = quiet(server, product, seconds, time.sleep)
        with closing(Held(product, agents)) as held:
            beside = quiet(server, product, WAIT_SECONDS, held.ask_anew)
        return Polls(
            server.kind,
            wake_p50_ms=1000 * median(wake for wake, _ in found),
            wake_p99_ms=1000 * quantiles((wake for wake, _ in found), n=100)[-1],
            calls_p50_ms=1000 * median(calls for _, calls in found),
            wake_ratio=median(wake / calls for wake, calls in found),
            held=HELD,
            alone_statements=alone.statements,
            statements=beside.statements,
            alone_percent=alone.percent,
            percent=beside.percent,
        )


class Held:
    """A poll of each agent that finds nothing, asked again when it is answered."""

    def __init__(self, product: Product, agents: list[Agent]) -> None:
        self._poll = select.epoll()
        self._open: dict[int, tuple[socket.socket, bytes]] = {}
        self._said: dict[int, bytes] = {}
        for agent in agents:
            text = _request(product.port, agent)
            one = socket.create_connection(("127.0.0.1", product.port), timeout=30)
            one.sendall(text)
            self._open[one.fileno()] = one, text
            self._poll.register(one, select.EPOLLIN)

    def ask_anew(self, seconds: float) -> None:
        """Whatever is answered within this time."""
        for descriptor, _ in self._poll.poll(seconds, len(self._open)):
            one, text = self._open[descriptor]
            part = one.recv(65_536)
            said = self._said[descriptor] = self._said.get(descriptor, b"") + part
            if part and not said.endswith(b"}"):
                continue
            if not said.startswith(b"HTTP/1.1 200 ") or b'"events":[]' not in said:
                raise RuntimeError(f"a held poll was answered {said[:300]!r}")
            self._said[descriptor] = b""
            one.sendall(text)

    def close(self) -> None:
        """Hang up."""
        self._poll.close()
        for one, _ in self._open.values():
            with suppress(OSError):
                one.close()


def _request(port: int, agent: Agent) -> bytes:
    """A poll behind everything that the agent's inbox has."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    headers = {"Authorization": f"Bearer {agent.tokens.claim}"}
    base = f"/api/v1/agents/{agent.agent_id}/inbox"
    connection.request("GET", f"{base}/stats", headers=headers)
    head = orjson.loads(connection.getresponse().read())["head"]
    connection.close()
    return (
        f"GET {base}?after_cursor={head}&wait_seconds={WAIT_SECONDS} HTTP/1.1\r\n"
        f"Host: 127.0.0.1:{port}\r\nAuthorization: {headers['Authorization']}\r\n\r\n"
    ).encode()
