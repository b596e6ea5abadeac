"""How long nobody was served, by what clients wrote down. Pure."""

from __future__ import annotations

import statistics
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import islice

from tests.chaos.history import Call, Outcome

WRITES = ("publish", "ack")
NANOSECONDS = 1_000_000_000


def served_at(calls: Iterable[Call]) -> list[int]:
    """When publications and acks were acknowledged, in order, in nanoseconds as in the calls."""
    return sorted(
        call.answered_at
        for call in calls
        if call.verb in WRITES and call.outcome is Outcome.OK and call.answered_at is not None
    )


def seconds_without(served: Sequence[int], since: int, until: int) -> float:
    """The longest time without an acknowledged publication or ack that a fault was in.

    `served`: of `served_at`. `since`, `until`: from when to when the fault lasted, in the same.
    """
    first = bisect_right(served, since)
    before = served[first - 1] if first else since  # before it nobody had got so far
    longest = 0
    for after in islice(served, first, None):
        if before >= until:
            break
        longest, before = max(longest, after - before), after
    return longest / NANOSECONDS


def told(seconds: Sequence[float]) -> str:
    """Their median and the longest, for whoever reads it."""
    return f"median {statistics.median(seconds):.1f}, max {max(seconds):.1f}" if seconds else "-"
