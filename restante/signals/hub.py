"""The doorbell of one process: who listens, and whom a ring wakes.

A bell is a flag, never a queue: rings that nobody has heard yet are one ring. Nothing here touches
the database; the locks are `threading`'s, which under gevent are cooperative.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Self

from restante.signals.rings import Ring


class Bell:
    """One listener at one inbox; hears rings for the projects it covers.

    `head`: the highest sequence that any ring for the inbox named.
    """

    __slots__ = ("_hub", "_woken", "head", "project_ids", "recipient_id", "rung")

    def __init__(
        self, hub: Hub, recipient_id: bytes, project_ids: Iterable[bytes], head: int = 0
    ) -> None:
        self._hub = hub
        self._woken = threading.Event()
        self.recipient_id = recipient_id
        self.project_ids = frozenset(project_ids)
        self.head = head
        self.rung = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def hear(self, ring: Ring) -> bool:
        """Take in a ring for this inbox; returns whether it woke somebody."""
        if ring.head is not None and ring.head > self.head:
            self.head = ring.head
        if ring.project_id not in self.project_ids or self.rung:
            return False
        self.rung = True
        self._woken.set()
        return True

    def wake(self) -> None:
        """Let whoever waits look around, without a ring."""
        self._woken.set()

    def wait(self, timeout_seconds: float | None = None) -> bool:
        """Wait for a ring and take it: True. False when the time is over or the hub drains."""
        end = None if timeout_seconds is None else time.monotonic() + timeout_seconds
        while not self.rung and not self._hub.draining:
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                break
            self.sleep(left)
        return self.take()

    def doubt(self) -> None:
        """A ring may have gone unheard: look whether something is there."""
        self.rung = True
        self._woken.set()

    def take(self) -> bool:
        """Whether it was rung since it was last asked."""
        if self.rung:
            self.rung = False
            return True
        return False

    def sleep(self, timeout_seconds: float | None = None) -> None:
        """Return once something has woken it since the last return, or when the time is over."""
        self._woken.wait(timeout_seconds)
        self._woken.clear()

    def close(self) -> None:
        """Listen no longer."""
        self._hub.leave(self)


class Hub:
    """The bells of one process. `forward` gets the rings made here, for the other processes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bells: dict[bytes, tuple[Bell, ...]] = {}
        self.forward: Callable[[Sequence[Ring]], None] | None = None
        self.on_ring: Callable[[Bell], None] | None = None
        self.draining = False
        self.rings = 0
        """How many bells rings have woken."""

    def listen(self, recipient_id: bytes, project_ids: Iterable[bytes]) -> Bell:
        """A bell that hears from now on; to be closed (it is its own context manager)."""
        bell = Bell(self, recipient_id, project_ids)
        self.join(bell)
        return bell

    def join(self, bell: Bell) -> None:
        """Let a bell hear."""
        with self._lock:
            self._bells[bell.recipient_id] = (*self._bells.get(bell.recipient_id, ()), bell)

    def leave(self, bell: Bell) -> None:
        """Forget a bell; one that has left already is no matter."""
        with self._lock:
            left = tuple(b for b in self._bells.get(bell.recipient_id, ()) if b is not bell)
            if left:
                self._bells[bell.recipient_id] = left
            else:
                self._bells.pop(bell.recipient_id, None)

    def ring_many(self, rings: Sequence[Ring]) -> None:
        """What a transaction of this process has committed (signals.rings.ON_RING)."""
        self.hear_many(rings)
        if self.forward is not None:
            self.forward(rings)

    def hear_many(self, rings: Iterable[Ring]) -> int:
        """Ring the bells here; returns how many woke."""
        woken = 0
        for ring in rings:
            for bell in self.at(ring.recipient_id):
                if bell.hear(ring):
                    woken += 1
                    if self.on_ring is not None:
                        self.on_ring(bell)
        self.rings += woken
        return woken

    def doubt(self) -> None:
        """Have everybody who listens look: rings from elsewhere may have gone unheard."""
        with self._lock:
            bells = [bell for here in self._bells.values() for bell in here]
        for bell in bells:
            bell.doubt()

    def at(self, recipient_id: bytes) -> tuple[Bell, ...]:
        """The bells at an inbox."""
        return self._bells.get(recipient_id, ())

    def listens(self, recipient_id: bytes) -> bool:
        """Whether anybody here listens at the inbox."""
        return recipient_id in self._bells

    def drain(self) -> None:
        """End the waiting of everybody, now and from now on: this process is going to stop."""
        self.draining = True
        with self._lock:
            bells = [bell for here in self._bells.values() for bell in here]
        for bell in bells:
            bell.wake()
