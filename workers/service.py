"""A loop that calls one verb a tick. Services hold no rules; any number of copies may run."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence

from sqlalchemy.exc import SQLAlchemyError

from restante.errors import RestanteError

log = logging.getLogger("restante.workers")

LONGEST_PAUSE_SECONDS = 5.0
"""How long a service that fails waits at most: once the database is back, rings are late no longer."""
EXPECTED = (RestanteError, SQLAlchemyError, OSError)
"""What a database that is away or busy raises; anything else is a fault of ours."""


class Service:
    """Something done again and again. Subclasses say what, in `run_once`.

    `pause_seconds` is the pause between two passes, jittered by a fifth; after a failed pass it
    doubles, to five seconds. `passes` and `on_pass` are for tests, which wait for them.
    """

    name = "service"
    pause_seconds = 1.0

    def __init__(self) -> None:
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self.passes = 0
        self.failures = 0
        self.on_pass: Callable[[Mapping[str, int]], None] | None = None

    def run_once(self) -> Mapping[str, int]:
        """One bounded pass; returns what it did, by name. True work left over is `more`: 1."""
        raise NotImplementedError

    def finish(self) -> None:
        """What is to be done once the loop has ended."""

    def start(self) -> None:
        """Run in a thread of its own until `stop`."""
        thread = threading.Thread(target=self._loop, name=f"restante-{self.name}", daemon=True)
        thread.start()
        self._thread = thread  # who stops it meanwhile finds none to wait for

    def stop_soon(self) -> None:
        """Have the loop end after the pass it is in."""
        self._stopping.set()

    def stop(self, *, timeout_seconds: float = 5.0) -> None:
        """Have the loop end, and wait for that."""
        self.stop_soon()
        if self._thread is not None:
            self._thread.join(timeout_seconds)
        self.finish()

    def _loop(self) -> None:
        # copies that start together do not go on together
        pause = random.uniform(0, min(self.pause_seconds, 1.0))  # noqa: S311 - jitter
        while not self._stopping.wait(pause):
            began = time.monotonic()
            try:
                did = self.run_once()
            except Exception as error:
                self.failures += 1
                longest = max(self.pause_seconds, LONGEST_PAUSE_SECONDS)
                pause = min(self.pause_seconds * 2 ** min(self.failures, 10), longest)
                log.warning(
                    "service_failed name=%s error=%s times=%s",
                    self.name,
                    type(error).__name__,
                    self.failures,
                    exc_info=not isinstance(error, EXPECTED),
                )
                continue
            self.failures = 0
            self.passes += 1
            if self.on_pass is not None:
                self.on_pass(did)
            took = time.monotonic() - began
            pause = 0.0 if did.get("more") else self.next_pause(took)

    def next_pause(self, took_seconds: float) -> float:
        """How long to wait after a pass that took so long."""
        pause = max(self.pause_seconds - took_seconds, self.pause_seconds / 5)
        return pause * random.uniform(0.8, 1.2)  # noqa: S311 - jitter


class Services:
    """Some services, started and stopped together."""

    def __init__(self, services: Sequence[Service]) -> None:
        self.all = tuple(services)

    def start(self) -> None:
        """Start every one."""
        for service in self.all:
            service.start()

    def stop(self) -> None:
        """Stop every one; those that come first in the list last."""
        for service in self.all:
            service.stop_soon()
        for service in reversed(self.all):
            service.stop()

    def run_once(self) -> dict[str, Mapping[str, int]]:
        """One pass of every one, after another; by name what it did."""
        return {service.name: service.run_once() for service in self.all}
