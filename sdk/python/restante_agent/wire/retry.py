"""When the same call is sent again, and after how long."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from restante_agent.errors import ApiError, RestanteError


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Bounds of the retries of one call; every retry carries the same keys.

    `attempts` counts all tries; `budget_seconds` bounds the waiting of one call in all. A wait
    that the server names (`Retry-After`) is kept, never shortened, and spread by up to a quarter;
    otherwise full jitter below ``base_seconds * 2**n``, at most `cap_seconds`.
    """

    attempts: int = 6
    budget_seconds: float = 60.0
    base_seconds: float = 0.25
    cap_seconds: float = 10.0

    def wait_before(
        self, attempt: int, error: RestanteError, *, waited_seconds: float, random: Random
    ) -> float | None:
        """Seconds to wait before try number `attempt` + 1; None: give up and raise `error`."""
        if not error.retryable or attempt >= self.attempts:
            return None
        named = error.retry_after_seconds if isinstance(error, ApiError) else None
        if named is not None:
            wait = named * random.uniform(1.0, 1.25)
        else:
            ceiling = min(self.cap_seconds, self.base_seconds * 2 ** min(attempt, 30))
            wait = random.uniform(0.0, ceiling)
        return wait if waited_seconds + wait <= self.budget_seconds else None


NO_RETRY = RetryPolicy(attempts=1)
