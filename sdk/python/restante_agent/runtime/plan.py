"""How a run is to go: what `Agent` and `AsyncAgent` were told, checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from restante_agent.errors import ConfigurationError, CursorGone
from restante_agent.model.inbox import State

Recovery = Callable[[CursorGone, State | None], None]

GIVE_UP_SECONDS = 60.0
"""For how long a run until the inbox is empty asks a server that does not answer."""

# After handlers were told to stop, what they get before their leases are given back.
LAST_SECONDS = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    concurrency: int = 1
    lease_seconds: int = 60
    projects: Sequence[str] | None = None
    drain_seconds: float = 20.0
    last_seconds: float = LAST_SECONDS
    recovery: Recovery | None = None
    stream: bool = True
    until_empty: bool = False
    give_up_seconds: float | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.concurrency <= 1000:
            raise ConfigurationError("concurrency must be between 1 and 1000")
        if not 1 <= self.lease_seconds <= 43_200:
            raise ConfigurationError("lease_seconds must be between 1 and 43200")
        if self.drain_seconds < 0:
            raise ConfigurationError("drain_seconds must not be negative")
        if self.give_up_seconds is not None and self.give_up_seconds < 0:
            raise ConfigurationError("give_up_seconds must not be negative")
