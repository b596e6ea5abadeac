"""How many events an agent holds, counted only where it may come near what it may hold.

The count walks the index entries of all that was claimed and acked and is not purged yet: on a busy
inbox it took half of the look at it. While the last count, and what this process has taken since,
are far from the limit, it is left out. Other processes may take as much meanwhile, so far is an eighth.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

HELD = "restante.held"
"""Key of `session.info`: an InFlight of this process; without one every claim counts."""

FRESH_SECONDS = 1.0
FAR = 8
_KEPT = 10_000


@dataclass(slots=True)
class _Counted:
    at: float
    held: int
    most: int


class InFlight:
    """What one process knows."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._counted: dict[bytes, _Counted] = {}

    def take_far(self, recipient_id: bytes, more: int) -> bool:
        """Whether so many more may be taken without a count, the agent being far from its limit."""
        known = self._counted.get(recipient_id)
        if known is None or self._clock() - known.at >= FRESH_SECONDS:
            return False
        known.held += more
        return known.held * FAR <= known.most

    def was_of(self, recipient_id: bytes, most: int) -> bool:
        """Whether that is the limit that the agent was far from: it may have been lowered since."""
        known = self._counted.get(recipient_id)
        return known is not None and known.most == most

    def count(self, recipient_id: bytes, *, held: int, most: int) -> None:
        """It was counted, and what is being taken added; the agent may hold `most`."""
        if len(self._counted) >= _KEPT:
            self._counted.clear()
        self._counted[recipient_id] = _Counted(self._clock(), held, most)
