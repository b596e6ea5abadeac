"""What a handler is given: the event, its fencing numbers, and the word to stop."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from enum import StrEnum
from threading import Event as Flag
from threading import Lock
from typing import Any

from restante_agent.errors import RestanteError
from restante_agent.model.event import ClaimedEvent


class StopReason(StrEnum):
    """Why a handler should stop."""

    LEASE_LOST = "lease_lost"  # somebody else may hold the event: a settle or renew was refused
    LEASE_EXPIRED = "lease_expired"  # no renewal got through in time
    CANCEL_REQUESTED = "cancel_requested"  # the producer took it back; an ack still wins
    SHUTDOWN = "shutdown"  # this process ends


class Stopped(RestanteError):
    """Raised by `raise_if_stopped`; a handler lets it pass."""


class Delivery:
    """One claimed event in the hands of a handler.

    Look at `stopped` in long work, or call `raise_if_stopped`. A handler that saw `stopped` and
    returns None is taken to have given up; one that finished nevertheless returns ``Ack()``.
    """

    def __init__(
        self, event: ClaimedEvent, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self.event = event
        # W3C Trace Context of this handling; what is called from it may be told
        self.traceparent = event.traceparent
        self.progress: Mapping[str, Any] | None = None
        self.stop_reason: StopReason | None = None
        self.stop_seen = False
        self._monotonic = monotonic
        self._deadline = monotonic() + event.lease_remaining_ms / 1000
        self._flag, self._lock = Flag(), Lock()
        self._listeners: list[Callable[[StopReason], None]] = []

    @property
    def generation(self) -> int:
        """The event's fencing number: grows with every claim of this event."""
        return self.event.claim_generation

    @property
    def fence(self) -> int | None:
        """For the resource behind the ordering key: grows with every claim in that key."""
        return self.event.fence

    @property
    def lease_remaining_ms(self) -> int:
        """What is left of the lease by this machine's clock; renewals have moved it on."""
        return max(0, round((self._deadline - self._monotonic()) * 1000))

    @property
    def stopped(self) -> bool:
        self.stop_seen = self.stop_seen or self.stop_reason is not None
        return self.stop_reason is not None

    @property
    def must_stop(self) -> bool:
        """For the runner: not even a settle is to be tried again (after a cancel, an ack is)."""
        return self.stop_reason not in (None, StopReason.CANCEL_REQUESTED)

    def wait_stopped(self, timeout_seconds: float | None = None) -> bool:
        """Wait until the work is to stop; False when the time was over first."""
        self._flag.wait(timeout_seconds)
        return self.stopped

    def raise_if_stopped(self) -> None:
        if self.stopped:
            raise Stopped(str(self.stop_reason))

    def report(self, progress: Mapping[str, Any]) -> None:
        """Progress (a JSON object, at most 4 KiB) to be sent with the next renewal."""
        self.progress = progress

    def on_stop(self, listener: Callable[[StopReason], None]) -> None:
        """Call `listener` once when the work is to stop; at once if it is already."""
        with self._lock:
            if self.stop_reason is None:
                self._listeners.append(listener)
                return
            reason = self.stop_reason
        listener(reason)

    def stop(self, reason: StopReason) -> None:
        """For the runner: raise the flag. A lost lease is said even after a milder reason."""
        with self._lock:
            first = self.stop_reason is None
            if not first and reason not in (StopReason.LEASE_LOST, StopReason.LEASE_EXPIRED):
                return
            self.stop_reason = reason
            listeners, self._listeners = self._listeners, []
        self._flag.set()
        for listener in listeners:
            listener(reason)

    def extend(self, deadline: float) -> None:
        """For the runner: the lease now lasts until `deadline` (monotonic)."""
        self._deadline = deadline
