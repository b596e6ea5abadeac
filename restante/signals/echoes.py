"""Rings that came by a direct way, so that the tailer does not ring for them again.

A ring reaches a process at once (its own commit, a neighbour's datagram) and once more as a row of
`wake`, which may be read first. Each of the one is paired with one of the other, so a second ring of
the same name is no echo.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable

from restante.signals.rings import Ring

KEPT_SECONDS = 5.0


class Echoes:
    """What came by one way alone in the last seconds. `listens` tells which inboxes matter here.

    Noted of all inboxes: who begins to listen has seen what was rung for before by its first look.
    """

    def __init__(
        self,
        listens: Callable[[bytes], bool],
        *,
        kept_seconds: float = KEPT_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._listens = listens
        self._kept_seconds = kept_seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._heard: dict[Ring, list[float]] = {}
        self._met: dict[Ring, list[float]] = {}
        self._order: deque[tuple[float, Ring]] = deque()

    def heard(self, rings: Iterable[Ring]) -> None:
        """Note rings that came directly: each is met once in the table, before or after."""
        now = self._clock()
        with self._lock:
            self._forget(now)
            for ring in rings:
                if not _take(self._met, ring):
                    self._keep(self._heard, ring, now)

    def news(self, rings: Iterable[Ring]) -> list[Ring]:
        """Of rings met in the table, those that matter here and did not come directly."""
        now = self._clock()
        with self._lock:
            self._forget(now)
            return [ring for ring in rings if self._is_news(ring, now)]

    def forget_heard(self) -> None:
        """What came directly may not be met any more: the table is read from another place."""
        with self._lock:
            self._heard.clear()

    def _is_news(self, ring: Ring, now: float) -> bool:
        if _take(self._heard, ring):
            return False
        self._keep(self._met, ring, now)
        return self._listens(ring.recipient_id)

    def _keep(self, notes: dict[Ring, list[float]], ring: Ring, now: float) -> None:
        notes.setdefault(ring, []).append(now)
        self._order.append((now, ring))

    def _forget(self, now: float) -> None:
        while self._order and self._order[0][0] + self._kept_seconds < now:
            at, ring = self._order.popleft()
            for notes in (self._heard, self._met):
                if (times := notes.get(ring)) and times[0] <= at:
                    _take(notes, ring)


def _take(notes: dict[Ring, list[float]], ring: Ring) -> bool:
    """Strike out the oldest note of the ring; whether there was one."""
    times = notes.get(ring)
    if times is None:
        return False
    del times[0]
    if not times:
        del notes[ring]
    return True
