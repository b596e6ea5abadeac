"""How often one principal may call: a bucket of tokens each, in this process. Pure but for the lock."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from restante.errors import RateLimited

MOST_BUCKETS = 20_000
BURST_SECONDS = 2.0
"""A principal that was quiet may make the calls of so long a time at once."""


class Rates:
    """At most `per_second` calls of each principal, 0: as many as it likes."""

    def __init__(
        self,
        per_second: float,
        *,
        burst_seconds: float = BURST_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.per_second = per_second
        self._most = max(1.0, per_second * burst_seconds)
        self._clock = clock
        self._lock = threading.Lock()
        self._buckets: OrderedDict[bytes, tuple[float, float]] = OrderedDict()

    def take(self, principal_id: bytes) -> None:
        """Count a call. Raises RateLimited, with the time until the next one is free."""
        if not self.per_second:
            return
        with self._lock:
            now = self._clock()
            left, at = self._buckets.pop(principal_id, (self._most, now))
            left = min(self._most, left + (now - at) * self.per_second)
            taken = left >= 1
            self._buckets[principal_id] = (left - 1 if taken else left, now)
            if len(self._buckets) > MOST_BUCKETS:
                self._buckets.popitem(last=False)
        if not taken:
            raise RateLimited(retry_after_seconds=math.ceil((1 - left) / self.per_second))
