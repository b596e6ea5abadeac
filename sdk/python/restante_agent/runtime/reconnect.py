"""When the doorbell is opened again, and how long it may be silent."""

from __future__ import annotations

from random import Random

from restante_agent.errors import ApiError, RestanteError
from restante_agent.model.frame import Ready, Reconnect

BASE_SECONDS = 1.0
CEILING_SECONDS = 60.0
SILENT_HEARTBEATS = 2.5


class Reconnecting:
    """Pure. Full jitter (0 to twice as much each time), started anew once a stream proved good.

    A stream proves good by its first frame after `ready`: one that a proxy cuts right after the
    first bytes must not start the doubling over.
    """

    def __init__(self, *, random: Random, heartbeat_seconds: float = 30.0) -> None:
        self._random = random
        self._losses = 0
        self._heartbeat_seconds = heartbeat_seconds

    @property
    def silence_seconds(self) -> float:
        """A stream silent for so long is dead: 2.5 heartbeats."""
        return self._heartbeat_seconds * SILENT_HEARTBEATS

    def ready(self, frame: Ready) -> None:
        if frame.heartbeat_seconds > 0:
            self._heartbeat_seconds = frame.heartbeat_seconds

    def proven(self) -> None:
        self._losses = 0

    def after_loss(self, *, error: RestanteError | None, retry_ms: int | None) -> float:
        """Seconds to wait after a stream broke, ended without a word, or could not be opened."""
        named = error.retry_after_seconds if isinstance(error, ApiError) else None
        if named is not None:
            return named * self._random.uniform(1.0, 1.25)
        base = max(BASE_SECONDS, (retry_ms or 0) / 1000)
        ceiling = max(base, min(CEILING_SECONDS, base * 2 ** min(self._losses, 10)))
        self._losses += 1
        return self._random.uniform(0.0, ceiling)

    def after_refusal(self) -> float:
        """Seconds to wait where the server does not allow it: never at once."""
        ceiling = min(CEILING_SECONDS, BASE_SECONDS * 2 ** min(self._losses, 10))
        self._losses += 1
        return self._random.uniform(ceiling / 2, ceiling)

    def after_goodbye(self, frame: Reconnect) -> float:
        """Seconds to wait after a `reconnect` frame.

        ``replaced``: nine processes would push one another out for ever, so this one polls a while.
        """
        wait = frame.retry_after_ms / 1000 * self._random.uniform(1.0, 1.25)
        if frame.reason == "replaced":
            return max(wait, self._random.uniform(CEILING_SECONDS, 2 * CEILING_SECONDS))
        return wait
