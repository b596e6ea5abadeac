"""When to ask again (contract 5.2). Pure."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

STREAM_OPEN_MS = 300_000
SOON_MS = 1_000
IDLE_SOON = timedelta(seconds=10)
STREAM_ALIVE = timedelta(seconds=30)
"""A stream counts as open while the process that serves it was seen within this time."""


def next_poll_ms(
    *,
    claimable: int,
    idle: timedelta | None,
    streaming: bool,
    uniform: Callable[[float, float], float],
) -> int:
    """300,000 while a stream is open, 1,000 while something is claimable or came within 10 s.

    Else half the idle time, within 10 s and 5 min. Twenty percent either way.
    """
    if streaming:
        pause: float = STREAM_OPEN_MS
    elif claimable or (idle is not None and idle < IDLE_SOON):
        pause = SOON_MS
    else:
        half = STREAM_OPEN_MS if idle is None else idle.total_seconds() * 500
        pause = min(STREAM_OPEN_MS, max(10_000, half))
    return int(pause * uniform(0.8, 1.2))
