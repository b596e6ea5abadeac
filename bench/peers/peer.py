"""What stands beside the product: a server with its settings, and how a client of it opens."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

from bench.sides import Client
from tests.support.processes import Process
from tests.support.unavailable import Unavailable
from tests.support.waiting import wait_until

T = TypeVar("T")
ANY = 1_000_000
"""A call takes as many as anybody wants."""
START_SECONDS = 120.0


class Peer:
    """One row of the table.

    `publishes`, `claims`: how many events one call takes. `durable`: what is acknowledged is on the disk,
    by the server's own settings; `said` tells them, and the versions. `remark`: what its figures hide.
    """

    name = ""
    libraries: tuple[str, ...] = ()
    publishes = ANY
    claims = ANY
    durable = True
    said = ""
    remark = ""

    def opener(self, clients: int) -> Callable[[int], Client]:
        """How a client of a new cell opens: each has a queue of its own, and it is empty."""
        raise NotImplementedError

    def processes(self) -> list[int]:
        """Whose processor time counts as the server's, with all that they started."""
        raise NotImplementedError

    def settle(self) -> None:
        """What the server would do by itself within a minute; between publishing and claiming."""


class Serial:
    """Names of queues that no cell had before."""

    def __init__(self) -> None:
        self._cell = 0

    def names(self, clients: int) -> list[str]:
        """One for each client."""
        self._cell += 1
        return [f"bench_{self._cell}_{number}" for number in range(clients)]


class House:
    """Where private servers lie, and what ends them. `python` has the peers' libraries."""

    def __init__(self, folder: Path, closing: ExitStack, python: Path) -> None:
        self.folder, self.python = folder, python
        self.closing = closing
        self.shared: dict[str, Any] = {}

    def place(self, name: str) -> Path:
        """The folder of a server."""
        place = self.folder / name
        place.mkdir(exist_ok=True)
        return place


def started(
    process: Process, port: int, *, stop: Callable[[], object], closing: ExitStack
) -> Process:
    """A server once it listens; raises Unavailable with its last words when it does not."""
    closing.callback(stop)

    def listens() -> bool:
        if not process.is_running():
            raise Unavailable(f"it ended at once: {process.tail(4)}")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            return False
        return True

    wait_until(listens, f"port {port}: {process.tail(4)}", timeout_seconds=START_SECONDS)
    return process


class AsyncClient:
    """A client whose library is asynchronous, on a loop of its own; `start` gives it that loop."""

    loop: asyncio.AbstractEventLoop

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        asyncio.set_event_loop(loop)
        self.wait(self.connect())

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    async def connect(self) -> None:
        raise NotImplementedError

    async def publishing(self, bodies: Sequence[bytes]) -> None:
        raise NotImplementedError

    async def claiming(self, limit: int) -> Sequence[Any]:
        raise NotImplementedError

    async def acking(self, claimed: Sequence[Any]) -> None:
        raise NotImplementedError

    async def closing(self) -> None:
        raise NotImplementedError

    def publish(self, bodies: Sequence[bytes]) -> None:
        self.wait(self.publishing(bodies))

    def claim(self, limit: int) -> Sequence[Any]:
        return self.wait(self.claiming(limit))

    def ack(self, claimed: Sequence[Any]) -> None:
        self.wait(self.acking(claimed))

    def close(self) -> None:
        self.wait(self.closing())
