"""What the threads of one runner share, under one lock."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass, field
from random import Random
from threading import Condition

from restante_agent.errors import ACCESS, InsufficientScope, RestanteError
from restante_agent.runtime.bell import Bell
from restante_agent.runtime.clock import Clock
from restante_agent.runtime.delivery import StopReason
from restante_agent.runtime.leases import Leases
from restante_agent.runtime.pacing import Pacing
from restante_agent.runtime.record import Position

log = logging.getLogger("restante_agent")


@dataclass(frozen=True, slots=True)
class Summary:
    """How many deliveries ended how; `claimed` counts those begun."""

    claimed: int = 0
    acked: int = 0
    known: int = 0
    released: int = 0
    failed: int = 0
    rejected: int = 0
    stale: int = 0
    stopped: int = 0
    unsettled: int = 0


@dataclass(slots=True)
class Board:
    """Hold `changed` to read or write any member; `notify_all` it after a change."""

    clock: Clock
    random: Random
    patient: bool = True
    changed: Condition | Bell = field(default_factory=Condition)
    pacing: Pacing = field(init=False)
    leases: Leases = field(init=False)
    counts: Counter[str] = field(default_factory=Counter)
    seen_head: Position | None = None
    stream_deadline: float | None = None
    stopping: bool = False
    stop_at: float = 0.0
    closed: bool = False
    fatal: BaseException | None = None
    known: bool = False
    """Whether the server took this run's credentials before."""
    admitted: bool = False
    """Whether it allowed a claim before."""

    def __post_init__(self) -> None:
        self.pacing = Pacing(random=self.random, now=self.clock.monotonic())
        self.leases = Leases(random=self.random)

    def stop(self) -> None:
        """No new claims; a second call stops the waiting for handlers too."""
        with self.changed:
            now = self.clock.monotonic()
            self.stop_at = now if not self.stopping else float("-inf")
            self.stopping = True
            self.changed.notify_all()

    def fail(self, error: RestanteError) -> None:
        """Something that no retry mends: end the run, and raise it there."""
        with self.changed:
            if self.fatal is None:
                self.fatal = error
                log.error("stop error=%s", error)
            self.changed.notify_all()
        self.stop()

    def waits_out(self, error: RestanteError) -> bool:
        """Whether to go on in spite of a refusal: what was allowed before may be so again.

        What never was is a wrong setting, which ends the run.
        """
        before = self.admitted if isinstance(error, InsufficientScope) else self.known
        return self.patient and before and isinstance(error, ACCESS)

    def wait(self, seconds: float | None) -> None:
        """For threads, holding `changed`: until it is notified, or the time is over."""
        if isinstance(self.changed, Condition):
            self.clock.wait(self.changed, seconds)

    def note_head(self, position: Position) -> None:
        with self.changed:
            self.seen_head = position

    def tell_all(self, reason: StopReason) -> None:
        with self.changed:
            held = self.leases.deliveries()
        for delivery in held:
            delivery.stop(reason)

    def summary(self) -> Summary:
        with self.changed:
            return Summary(**self.counts)
