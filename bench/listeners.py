"""Thousands of open streams in one process, and when each of their frames came."""

from __future__ import annotations

import re
import resource
import select
import socket
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress

from bench.product import Agent

OPENING = 40
"""So many streams open at a time: each needs one of a worker's ten connections for a moment."""
OPEN_SECONDS = 180.0

_RING = re.compile(rb'event: inbox_updated\s+data: \{"cursor_hint": ?(\d+)')


def allow_sockets(count: int) -> None:
    """Raise this process's limit of open files, which the servers it starts inherit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count + 1_000
    if hard != resource.RLIM_INFINITY and hard < wanted:
        raise RuntimeError(f"{wanted} open files are needed; ulimit -Hn allows {hard}")
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class Stream:
    """One subscription. `rings`: the highest cursor heard, `heard_at` when."""

    __slots__ = ("agent", "connection", "cursor", "heard_at", "ready", "text")

    def __init__(self, agent: Agent, connection: socket.socket) -> None:
        self.agent = agent
        self.connection = connection
        self.text = b""
        self.ready = False
        self.cursor = -1
        self.heard_at = 0.0

    @property
    def is_overloaded(self) -> bool:
        """Whether the server had no place for it just now."""
        return not self.ready and self.text.startswith(b"HTTP/1.1 503 ")

    def request(self, port: int) -> bytes:
        """What opens it."""
        return (
            f"GET /api/v1/agents/{self.agent.agent_id}/subscribe HTTP/1.1\r\n"
            f"Host: 127.0.0.1:{port}\r\nAccept: text/event-stream\r\n"
            f"Authorization: Bearer {self.agent.tokens.claim}\r\n\r\n"
        ).encode()

    def read(self) -> None:
        """Take what has come."""
        part = self.connection.recv(65_536)
        now = time.monotonic()
        if not part and not self.is_overloaded:
            raise RuntimeError(f"a stream ended; it closed on {self.text[-300:]!r}")
        self.text = (self.text + part)[-2_000:]
        if not self.ready and b"event: ready" in self.text:
            self.ready = True
        for ring in _RING.finditer(self.text):
            cursor = int(ring[1])
            if cursor > self.cursor:
                self.cursor, self.heard_at = cursor, now
        if self.ready:
            self.text = self.text[-200:]


class Listeners:
    """Streams of some agents on one server."""

    def __init__(self, port: int, agents: Iterable[Agent]) -> None:
        self.port = port
        self.streams: list[Stream] = []
        self._poll = select.epoll()
        self._by_descriptor: dict[int, Stream] = {}
        waiting = list(agents)
        self.refused = 0
        ends = time.monotonic() + OPEN_SECONDS
        while waiting:
            some, waiting = waiting[:OPENING], waiting[OPENING:]
            opened = [self._open(agent) for agent in some]
            while not all(stream.ready or stream.is_overloaded for stream in opened):
                self.listen(0.05)
                if time.monotonic() > ends:
                    late = next(s for s in opened if not s.ready)
                    raise RuntimeError(f"a stream is not ready; it has {late.text[-300:]!r}")
            refused = [stream for stream in opened if stream.is_overloaded]
            for stream in refused:  # as a client does, after the pause it is told
                self._drop(stream)
                waiting.append(stream.agent)
            if refused:
                self.refused += len(refused)
                self.listen(1.0)

    def _open(self, agent: Agent) -> Stream:
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        stream = Stream(agent, connection)
        connection.sendall(stream.request(self.port))
        connection.setblocking(False)
        self._poll.register(connection, select.EPOLLIN)
        self._by_descriptor[connection.fileno()] = stream
        self.streams.append(stream)
        return stream

    def _drop(self, stream: Stream) -> None:
        descriptor = stream.connection.fileno()
        self._poll.unregister(descriptor)
        del self._by_descriptor[descriptor]
        self.streams.remove(stream)
        stream.connection.close()

    def listen(self, seconds: float) -> None:
        """Read what comes within this time, or what is there at once."""
        for descriptor, _ in self._poll.poll(seconds, 1_000):
            self._by_descriptor[descriptor].read()

    def of(self, agent: Agent) -> Iterator[Stream]:
        """Those of one agent."""
        return (stream for stream in self.streams if stream.agent is agent)

    def close(self) -> None:
        """Hang up."""
        for stream in self.streams:
            with suppress(OSError):
                stream.connection.close()
        self._poll.close()
