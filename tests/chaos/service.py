"""How long nobody was served, by what clients wrote down. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from itertools import pairwise

from tests.chaos.history import Call, Outcome

WRITES = ("publish", "ack")
NANOSECONDS = 1_000_000_000


def seconds_without(calls: Iterable[Call], since: int, until: int) -> float:
    """The longest time without an acknowledged publication or ack that a fault was in.

    `since`, `until`: from when to when the fault lasted, in nanoseconds as in the calls.
    """
    ends = sorted(
        call.answered_at
        for call in calls
        if call.verb in WRITES and call.outcome is Outcome.OK and call.answered_at is not None
    )
    if not ends or ends[0] > since:  # before it nobody had got so far
        ends.insert(0, since)
    return max(
        (
            (after - before) / NANOSECONDS
            for before, after in pairwise(ends)
            if after > since and before < until
        ),
        default=0.0,
    )


def told(seconds: Sequence[float]) -> str:
    """Their median and the longest, for whoever reads it."""
    return f"median {statistics.median(seconds):.1f}, max {max(seconds):.1f}" if seconds else "-"
