"""Carries what a process counts by itself into its figures, and fetches the last sample."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Mapping

from restante.identity.tokens import Claims
from restante.sampling.samples import SLOT_SECONDS, latest_samples
from restante.signals.streams import Streams
from restante.storage.transaction import Database
from workers import metrics
from workers.metrics import Metrics
from workers.service import Service

RATE_SECONDS = 60.0
SAMPLE_EVERY = 3


class FigureKeeper(Service):
    """Every five seconds; every third time it reads the last sample."""

    name = "figures"
    pause_seconds = SLOT_SECONDS / SAMPLE_EVERY

    def __init__(
        self,
        database: Database,
        figures: Metrics,
        counted: list[Database],
        streams: Streams[Claims] | None = None,
    ) -> None:
        super().__init__()
        self._metrics = figures
        self._database = database
        self._counted = counted
        self._streams = streams
        self._retries: Counter[str] = Counter()
        self._rings = 0
        self._turn = 0
        self._expired: deque[tuple[float, float]] = deque()

    def run_once(self) -> Mapping[str, int]:
        self._metrics.flush()
        if self._streams is not None:
            metrics.STREAMS.set(len(self._streams))
            rings = self._streams.hub.rings
            metrics.RINGS.inc(rings - self._rings)
            self._rings = rings
        retries: Counter[str] = sum((database.retries for database in self._counted), Counter())
        for statement, times in (retries - self._retries).items():
            metrics.RETRIES.labels(statement).inc(times)
        self._retries = retries
        metrics.LEASE_RATE.set(self._lease_rate())
        if self._turn % SAMPLE_EVERY == 0:
            self._metrics.figures = self._database.run(latest_samples)
        self._turn += 1
        return {"streams": len(self._streams or ())}

    def _lease_rate(self) -> float:
        now = time.monotonic()
        self._expired.append((now, self._metrics.expired_leases))
        while len(self._expired) > 2 and self._expired[1][0] <= now - RATE_SECONDS:
            self._expired.popleft()
        (since, before), (_, after) = self._expired[0], self._expired[-1]
        return (after - before) / (now - since) if now > since else 0.0
