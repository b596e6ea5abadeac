"""The total time of a call, shared by its lookup, connection, request and answer."""

from __future__ import annotations

from collections.abc import Callable

from restante.egress.refusal import CallFailed, Cause

Clock = Callable[[], float]


class Deadline:
    """`seconds` from now on a clock that only goes forward."""

    def __init__(self, seconds: float, clock: Clock) -> None:
        self._clock = clock
        self._end = clock() + seconds

    def left(self, step_seconds: float) -> float:
        """How long the next step may wait: its own limit or what is left; CallFailed when nothing is."""
        left = self._end - self._clock()
        if left <= 0:
            raise CallFailed(Cause.TIMEOUT, "the call's whole time is over")
        return min(step_seconds, left)

    def put_off(self, seconds: float) -> None:
        """Time that somebody else has taken is none of the call's."""
        self._end += seconds
