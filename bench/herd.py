"""A herd: streams that all lost their server and all come back at once, beside those of a bare Flask.

The server is killed and started again; once it is ready every client connects, without the pauses
that it would be told, and comes again after a moment where it is refused.
"""

from __future__ import annotations

import heapq
import select
import socket
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from bench.bare_flask import BareFlask
from bench.listeners import allow_sockets
from bench.product import Agent, Product
from tests.support.servers import Server

MOST = 4.0
"""The product's streams are back in so many times what a bare Flask takes, which asks no database."""
STREAMS_OF_AN_AGENT = 8
PAUSE_SECONDS = 1.0
"""Before one that was refused comes again, as `Retry-After` says at least."""
PATIENCE_SECONDS = 120.0


@dataclass(frozen=True)
class Herd:
    """Seconds until all were back, medians. `answers`: {status: how often}, over all rounds."""

    kind: str
    streams: int
    back_seconds: float
    flask_seconds: float
    ratio: float
    answers: dict[str, int]

    def told(self) -> dict[str, Any]:
        """For the result file."""
        return dict(vars(self))


class Client:
    """One that wants its stream back."""

    __slots__ = ("_request", "connection", "text")

    def __init__(self, agent: Agent, port: int) -> None:
        self._request = (
            f"GET /api/v1/agents/{agent.agent_id}/subscribe HTTP/1.1\r\n"
            f"Host: 127.0.0.1:{port}\r\nAccept: text/event-stream\r\n"
            f"Authorization: Bearer {agent.tokens.claim}\r\n\r\n"
        ).encode()

    def connect(self, port: int) -> int:
        """Ask for the stream → the descriptor of the connection."""
        self.text = b""
        self.connection = socket.create_connection(("127.0.0.1", port), timeout=30)
        self.connection.sendall(self._request)
        self.connection.setblocking(False)
        return self.connection.fileno()

    def read(self) -> str | None:
        """What has come decides: the status once it is known to be open or refused, or None."""
        part = b""
        with suppress(ConnectionResetError):
            part = self.connection.recv(65_536)
        self.text += part
        status = self.text[9:12].decode(errors="replace") or "none"
        if b"event: ready" in self.text:
            return status
        if not part or (status not in ("200", "none") and b"\r\n\r\n" in self.text):
            return "broken" if status == "200" else status
        return None


def come_back(port: int, agents: Sequence[Agent]) -> tuple[float, Counter[str]]:
    """All at once → seconds until the last stream is open, and what was answered how often."""
    poll, answers = select.epoll(), Counter[str]()
    began = time.monotonic()
    due = [(began, number, Client(agent, port)) for number, agent in enumerate(agents)]
    waiting: dict[int, tuple[int, Client]] = {}
    back: list[Client] = []
    try:
        while len(back) < len(agents):
            while due and due[0][0] <= time.monotonic():
                _, number, client = heapq.heappop(due)
                try:
                    descriptor = client.connect(port)
                except ConnectionError:
                    answers["reset"] += 1
                    heapq.heappush(due, (time.monotonic() + PAUSE_SECONDS, number, client))
                    continue
                poll.register(descriptor, select.EPOLLIN)
                waiting[descriptor] = number, client
            for descriptor, _ in poll.poll(0.02, 1_000):
                number, client = waiting[descriptor]
                status = client.read()
                if status is None:
                    continue
                answers[status] += 1
                poll.unregister(descriptor)
                del waiting[descriptor]
                if status == "200":
                    back.append(client)
                else:
                    client.connection.close()
                    heapq.heappush(due, (time.monotonic() + PAUSE_SECONDS, number, client))
            if time.monotonic() > began + PATIENCE_SECONDS:
                raise RuntimeError(f"{len(back)} of {len(agents)} streams are back: {answers}")
        return time.monotonic() - began, answers
    finally:
        for client in (*back, *(client for _, client in waiting.values())):
            client.connection.close()
        poll.close()


def measure(server: Server, folder: Path, *, streams: int, rounds: int) -> Herd:
    """Restart and come back, the product and the bare Flask in turn; the first round warms up."""
    allow_sockets(2 * streams)
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as closing:
        product = Product(server.create_database("bench_herd"), folder)
        closing.callback(product.stop)
        flask = BareFlask("bench.flask_plain:app", folder / "flask.log", settings={})
        closing.callback(flask.stop)
        agents = product.agents(-(-streams // STREAMS_OF_AN_AGENT))
        herd = [agents[number % len(agents)] for number in range(streams)]
        took: list[tuple[float, float]] = []
        answers: Counter[str] = Counter()
        for number in range(rounds + 1):
            product.served.restart()
            ours, said = come_back(product.port, herd)
            flask.restart()
            floor, _ = come_back(flask.port, herd)
            if number:
                took.append((ours, floor))
                answers += said
        return Herd(
            server.kind,
            streams,
            back_seconds=median(ours for ours, _ in took),
            flask_seconds=median(floor for _, floor in took),
            ratio=median(ours / floor for ours, floor in took),
            answers=dict(answers),
        )
