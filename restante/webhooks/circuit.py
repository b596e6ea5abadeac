"""Whether deliveries flow to a callback's receiver, and how many at once. Pure.

A transport failure opens the circuit; when its pause is over, one delivery goes out to see. What is
approved, resumed or mended begins with one at a time, and has twice as many with each round that was
answered soon.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Circuit(StrEnum):
    """How a callback's receiver stands."""

    CLOSED = "closed"  # deliveries flow
    OPEN = "open"  # one has failed: nothing goes out until its pause is over
    HALF_OPEN = "half_open"  # one goes out to see


class Sign(StrEnum):
    """What happens to it."""

    TURN = "turn"  # a relay has its turn: the pause, where there was one, is over
    ANSWERED = "answered"
    FAILED = "failed"  # the transport, whatever it was


STEPS: Mapping[tuple[Circuit, Sign], Circuit] = {
    (Circuit.CLOSED, Sign.TURN): Circuit.CLOSED,
    (Circuit.CLOSED, Sign.ANSWERED): Circuit.CLOSED,
    (Circuit.CLOSED, Sign.FAILED): Circuit.OPEN,
    (Circuit.OPEN, Sign.TURN): Circuit.HALF_OPEN,
    # a relay that was killed has not told what came of it
    (Circuit.HALF_OPEN, Sign.TURN): Circuit.HALF_OPEN,
    (Circuit.HALF_OPEN, Sign.ANSWERED): Circuit.CLOSED,
    (Circuit.HALF_OPEN, Sign.FAILED): Circuit.OPEN,
}
"""What is not here cannot be: whatever fails ends the turn, so nothing is heard of an open one."""

MOST_AT_ONCE = 8
"""To one receiver from one relay, whatever its `max_in_flight`."""
SLOW_SECONDS = 2.0
"""A receiver that takes so long is given half as many, and waits among those that ail."""


def widened(at_once: int, *, slowest_seconds: float, most: int) -> int:
    """How many at once after a round of as many, all of them answered. `most`: its `max_in_flight`."""
    if slowest_seconds >= SLOW_SECONDS:
        return max(1, at_once // 2)
    return max(1, min(at_once * 2, most, MOST_AT_ONCE))


def ails(circuit: Circuit, took_seconds: float | None) -> bool:
    """Whether its next delivery may well take long: it has failed, or the last one did."""
    return circuit is not Circuit.CLOSED or (took_seconds or 0.0) >= SLOW_SECONDS
