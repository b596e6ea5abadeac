"""Rings that came by a direct way, so that the tailer does not ring for them again.

A ring reaches a process at once (its own commit, a neighbour's datagram) and once more as a row of
`wake`. Counting both ways tells an echo from a second ring of the same name.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable

from restante.signals.rings import Ring

KEPT_SECONDS = 5.0


class Echoes:
    """What was heard directly in the last seconds. `listens` tells which inboxes matter here.

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
        self._heard: dict[Ring, int] = {}
        self._order: deque[tuple[float, Ring]] = deque()

    def heard(self, rings: Iterable[Ring]) -> None:
        """Note rings that came directly: each will be met once in the table."""
        now = self._clock()
        with self._lock:
            self._forget(now)
            for ring in rings:
                self._heard[ring] = self._heard.get(ring, 0) + 1
                self._order.append((now, ring))

    def news(self, rings: Iterable[Ring]) -> list[Ring]:
        """Of rings met in the table, those that matter here and did not come directly."""
        with self._lock:
            self._forget(self._clock())
            return [
                ring for ring in rings if not self._spend(ring) and self._listens(ring.recipient_id)
            ]

    def _spend(self, ring: Ring) -> bool:
        count = self._heard.get(ring, 0)
        if count > 1:
            self._heard[ring] = count - 1
        elif count == 1:
            del self._heard[ring]
        return count > 0

    def _forget(self, now: float) -> None:
        while self._order and self._order[0][0] + self._kept_seconds < now:
            self._spend(self._order.popleft()[1])
