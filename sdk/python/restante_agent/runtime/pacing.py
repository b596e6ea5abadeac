"""When to look into the inbox: rung, due, or held back by the server.

With a stream the doorbell says when; a look every few minutes makes good a ring that got lost.
Without one: after 1 s, doubling to 5 min while nothing comes, 1 s again after an event. The
server's `next_poll_ms` and `Retry-After` are never undercut.
"""

from __future__ import annotations

import math
from random import Random

from restante_agent.errors import ApiError, RestanteError
from restante_agent.model.inbox import Claim

POLL_FLOOR_SECONDS = 1.0
POLL_CEILING_SECONDS = 300.0
FAILURE_CEILING_SECONDS = 60.0


class Pacing:
    """Pure: told what happened and what time it is, says when the next claim is due."""

    def __init__(self, *, random: Random, now: float) -> None:
        self._random = random
        self._due = now
        self._held_back_until = -math.inf
        self._rung = False
        self._ladder = POLL_FLOOR_SECONDS
        self._failures = 0
        self._failing_since = now
        self.stream_up = False

    def due_at(self) -> float:
        """The instant of the next claim; in the past: now."""
        return max(self._held_back_until, -math.inf if self._rung else self._due)

    def ring(self) -> None:
        """Something may be claimable: a frame said so, or a lease of ours has just ended."""
        self._rung = True

    def stream_opened(self) -> None:
        self.stream_up = True

    def stream_lost(self, now: float) -> None:
        """What was rung while it fell is not known, so look soon."""
        if self.stream_up:
            self.stream_up = False
            self._ladder = POLL_FLOOR_SECONDS
            self._due = min(self._due, now + self._spread(POLL_FLOOR_SECONDS))

    def asking(self) -> None:
        """A claim is about to be sent: rings from here on are not answered by it."""
        self._rung = False

    def answered(self, claim: Claim, *, asked: int, now: float) -> None:
        self._failures = 0
        named = (claim.next_poll_ms or 0) / 1000
        if claim.events:
            self._ladder = POLL_FLOOR_SECONDS
            if claim.claimable or len(claim.events) >= asked:
                self._rung = True
        elif claim.spent:
            self._rung = True
        elif claim.claimable and claim.reason is None:
            self._ladder = POLL_FLOOR_SECONDS
            named = min(named, POLL_FLOOR_SECONDS) if self.stream_up else named
            self._due = now + self._spread(max(self._ladder, named))
            return
        pause = max(self._ladder, named)
        if self.stream_up and not claim.next_poll_ms:
            pause = POLL_CEILING_SECONDS
        self._due = now + self._spread(pause)
        if not claim.events:
            self._ladder = min(POLL_CEILING_SECONDS, self._ladder * 2)

    def failed(self, error: RestanteError, *, now: float) -> None:
        """No answer, or one that asks to come back: full jitter, or what the server named."""
        named = error.retry_after_seconds if isinstance(error, ApiError) else None
        if named is not None:
            wait = self._spread(named)
        else:
            ceiling = min(
                FAILURE_CEILING_SECONDS, POLL_FLOOR_SECONDS * 2 ** min(self._failures, 10)
            )
            wait = self._random.uniform(0.1, ceiling)
        if not self._failures:
            self._failing_since = now
        self._failures += 1
        self._held_back_until = now + wait
        self._rung = True

    def gives_up(self, after_seconds: float) -> bool:
        """Whether the next try would come later than this after the first that failed since an answer."""
        return self._failures > 0 and self.due_at() > self._failing_since + after_seconds

    def _spread(self, seconds: float) -> float:
        # Upwards only: the server's waits are the least it asks for.
        return seconds * self._random.uniform(1.0, 1.2)
