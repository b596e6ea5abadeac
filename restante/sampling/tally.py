"""What this process has seen happen in inboxes, summed up in memory until it is added to the history."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

from restante.observations import Observation, What
from restante.storage.tables.operation import DELIVERED_CLASSES

CLASSES_MS: tuple[int, ...] = (
    *(half * 10**power for power in range(1, 7) for half in (1, 3)),
    10**8,
)
"""Upper bounds of the classes of delivery latency; the last class has none."""


@dataclass(slots=True)
class Counts:
    """`delivered`: completions by class of latency."""

    lease_expirations: int = 0
    quarantinings: int = 0
    delivered: list[int] = field(default_factory=lambda: [0] * DELIVERED_CLASSES)

    def add(self, other: Counts) -> None:
        """Sum up."""
        self.lease_expirations += other.lease_expirations
        self.quarantinings += other.quarantinings
        self.delivered = [a + b for a, b in zip(self.delivered, other.delivered, strict=True)]


class Tally:
    """By recipient, since it was last taken."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[bytes, Counts] = {}

    def observe(self, observations: Sequence[Observation]) -> None:
        """Count what tells in whose inbox it was (observations.ON_OBSERVED)."""
        with self._lock:
            for seen in observations:
                if seen.recipient_id is None:
                    continue
                counts = self._counts.setdefault(seen.recipient_id, Counts())
                if seen.what is What.LEASE_EXPIRED:
                    counts.lease_expirations += seen.times
                elif seen.what is What.QUARANTINED:
                    counts.quarantinings += seen.times
                elif seen.what is What.DELIVERED_MS:
                    for length in seen.lengths:
                        counts.delivered[bisect_left(CLASSES_MS, length)] += 1

    def take(self) -> dict[bytes, Counts]:
        """All of it, once."""
        with self._lock:
            counts, self._counts = self._counts, {}
        return counts

    def give_back(self, counts: dict[bytes, Counts]) -> None:
        """What could not be written counts next time."""
        with self._lock:
            for recipient_id, some in counts.items():
                self._counts.setdefault(recipient_id, Counts()).add(some)
