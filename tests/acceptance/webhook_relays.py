"""Relays that are killed between a receiver's 200 and the ack, and those that follow them."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from tests.support.processes import Process
from tests.support.serving import ROOT

LATER_SECONDS = 70
"""So far ahead of the one before it is the clock of a relay that follows one that was killed."""


class Relays:
    """`wanted`: how many are to be killed at their next deliveries."""

    def __init__(self, environment: Mapping[str, str], folder: Path, count: int) -> None:
        self.wanted = 0
        self._environment = environment
        self._folder = folder
        self._count = count
        self._running: list[Process] = []
        self._frozen: dict[int, Process] = {}
        self._lock = threading.Lock()
        self._starts = 0

    def freeze(self, port: int) -> None:
        """A relay that is to be killed stops before its receiver answers: the 200 is never read."""
        with self._lock:
            if not self.wanted:
                return
            for relay in self._running:
                if _holds_port(relay.pid, port):
                    self.wanted -= 1
                    relay.signal(signal.SIGSTOP)
                    self._frozen[threading.get_ident()] = relay
                    self._running.remove(relay)
                    return

    def kill_frozen(self) -> None:
        """The receiver has answered: SIGKILL to the one that waited for that."""
        with self._lock:
            relay = self._frozen.pop(threading.get_ident(), None)
        if relay is not None:
            os.kill(relay.pid, signal.SIGKILL)

    def follow(self) -> None:
        """Start as many as there are to be."""
        while len(self._running) < self._count and not self._frozen:
            self._running.append(self._start())

    def end(self) -> None:
        for relay in [*self._running, *self._frozen.values()]:
            relay.kill_group()

    def _start(self) -> Process:
        ahead = max(0, self._starts + 1 - self._count) * LATER_SECONDS
        self._starts += 1
        return Process(
            [sys.executable, "-m", "tests.acceptance.webhook_relay", str(ahead)],
            log=self._folder / f"relay-{self._starts}.log",
            env=self._environment,
            cwd=ROOT,
        )


def _holds_port(pid: int, port: int) -> bool:
    """Whether a process has the connection that goes out from this port."""
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if int(fields[1].rpartition(":")[2], 16) == port:
            wanted = f"socket:[{fields[9]}]"
            with suppress(OSError):
                return wanted in [str(one.readlink()) for one in Path(f"/proc/{pid}/fd").iterdir()]
    return False
