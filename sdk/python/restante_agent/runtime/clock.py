"""Time as the runner sees it, so that a test can move it by hand."""

from __future__ import annotations

import time
from threading import Condition
from typing import Protocol


class Clock(Protocol):
    def monotonic(self) -> float: ...

    def wait(self, condition: Condition, seconds: float | None) -> None:
        """Wait on a held condition until it is notified or the time is over (None: no limit)."""


class SystemClock:
    def monotonic(self) -> float:
        return time.monotonic()

    def wait(self, condition: Condition, seconds: float | None) -> None:
        condition.wait(seconds)
