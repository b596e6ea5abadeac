"""Open streams of one process: a bell each, and what its holder is to be told next."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, Protocol, TypeVar

from restante.signals.hub import Bell, Hub
from restante.storage.ids import new_id

MOST_OF_AN_AGENT = 8
FIRST_PAUSE_SECONDS = 1.0
LAST_PAUSE_SECONDS = 60.0
Pass = TypeVar("Pass")


class End(StrEnum):
    """Why a stream ends: the reasons of `reconnect`, and `revoked`, which is a frame of its own."""

    SHUTDOWN = "shutdown"
    TOKEN_EXPIRED = "token_expired"
    REPLACED = "replaced"
    LIFETIME = "lifetime"
    REVOKED = "revoked"


# How long a client is to stay away, in seconds, drawn evenly: none returns with the others.
STAY_AWAY = {
    End.SHUTDOWN: (0.5, 10.0),
    End.TOKEN_EXPIRED: (0.0, 1.0),
    End.REPLACED: (10.0, 60.0),
    End.LIFETIME: (0.5, 10.0),
    End.REVOKED: (0.0, 0.0),
}


@dataclass(frozen=True, slots=True)
class Ending:
    """The last frame of a stream."""

    reason: End
    retry_after_ms: int


class Line(Protocol):
    """The connection of a stream."""

    def is_gone(self) -> bool:
        """Whether the other side has closed it."""

    def hang_up(self) -> None:
        """Close it under whoever may be writing."""


class Stream(Bell, Generic[Pass]):
    """An open stream. `standing`: what its right to listen is checked by; times are monotonic."""

    __slots__ = (
        "beat_at",
        "beating",
        "ending",
        "ends_at",
        "ends_by",
        "line",
        "opened_at",
        "pause_seconds",
        "standing",
        "stream_id",
        "sweep_at",
        "unchecked",
    )

    def __init__(
        self,
        hub: Hub,
        recipient_id: bytes,
        project_ids: Iterable[bytes],
        *,
        standing: Pass,
        ends_at: float,
        now: float,
    ) -> None:
        super().__init__(hub, recipient_id, project_ids)
        self.stream_id = new_id()
        self.standing = standing
        self.opened_at = now
        self.ends_at = ends_at
        self.ends_by = End.LIFETIME
        self.beat_at = now
        self.beating = False
        self.unchecked = 0
        self.ending: Ending | None = None
        self.pause_seconds = FIRST_PAUSE_SECONDS
        self.sweep_at = now + self.pause_seconds
        self.line: Line | None = None

    def beat(self) -> None:
        """Have a heartbeat sent."""
        self.beating = True
        self.wake()

    def end(self, reason: End) -> None:
        """Have the last frame sent; the first reason stands."""
        if self.ending is None:
            low, high = STAY_AWAY[reason]
            self.ending = Ending(reason, round(random.uniform(low, high) * 1000))  # noqa: S311 - jitter
            self.wake()

    def doubt(self) -> None:
        """Have the sweep look at it next: a client is told of what is there, not of a doubt."""
        self.sweep_at = float("-inf")

    def back_off(self, now: float) -> None:
        """Look again for what waits after a pause that grows to a minute."""
        self.sweep_at = now + self.pause_seconds * random.uniform(0.8, 1.0)  # noqa: S311 - jitter
        self.pause_seconds = min(self.pause_seconds * 2, LAST_PAUSE_SECONDS)

    def look_soon(self, now: float) -> None:
        """It was rung: unless it takes what waits, ring again in a second."""
        self.pause_seconds = FIRST_PAUSE_SECONDS
        self.back_off(now)


class Streams(Generic[Pass]):
    """The open streams of this process, at most `limit`.

    `opened` and `closed` collect for the registry, which other processes read. `apart`: of those at one
    place the oldest of the same standing gives way to a ninth, not the oldest of all.
    """

    def __init__(
        self,
        hub: Hub,
        *,
        limit: int,
        heartbeat_seconds: float,
        lifetime_seconds: float = 3600.0,
        clock: Callable[[], float] = time.monotonic,
        make: type[Stream[Pass]] = Stream,
        apart: bool = False,
    ) -> None:
        self.hub = hub
        self._make = make
        self._apart = apart
        self.limit = limit
        self.heartbeat_seconds = heartbeat_seconds
        self.lifetime_seconds = lifetime_seconds
        self.clock = clock
        self._lock = threading.Lock()
        self._streams: dict[bytes, Stream[Pass]] = {}
        self._opened: list[Stream[Pass]] = []
        self._closed: list[bytes] = []
        hub.on_ring = self._rung

    def __len__(self) -> int:
        return len(self._streams)

    def open(
        self, recipient_id: bytes, project_ids: Iterable[bytes], *, standing: Pass
    ) -> Stream[Pass] | None:
        """A stream that hears from now on; None where there is no room. Bound it by its token's end.

        A ninth of an agent closes its oldest (those of other processes: the registry).
        """
        now = self.clock()
        # not all of a deployment are to end in the same second
        lifetime = self.lifetime_seconds * random.uniform(0.9, 1.0)  # noqa: S311 - jitter
        stream = self._make(
            self.hub, recipient_id, project_ids, standing=standing, ends_at=now + lifetime, now=now
        )
        stream.beat_at = now + self.heartbeat_seconds * random.uniform(0.5, 0.9)  # noqa: S311 - jitter
        with self._lock:
            if len(self._streams) >= self.limit or self.hub.draining:
                return None
            self._streams[stream.stream_id] = stream
            self._opened.append(stream)
        self.hub.join(stream)
        self._close_oldest(stream)
        return stream

    def bound(self, stream: Stream[Pass], token_seconds: float) -> None:
        """End the stream before its token, which ends in so many seconds."""
        end = self.clock() + token_seconds - min(2.0, token_seconds / 10)
        if end < stream.ends_at:
            stream.ends_at, stream.ends_by = end, End.TOKEN_EXPIRED

    def close(self, stream: Stream[Pass]) -> None:
        """Forget a stream whose connection has ended."""
        self.hub.leave(stream)
        with self._lock:
            if self._streams.pop(stream.stream_id, None) is not None:
                self._closed.append(stream.stream_id)

    def all(self) -> list[Stream[Pass]]:
        """Those open now."""
        with self._lock:
            return list(self._streams.values())

    def get(self, stream_id: bytes) -> Stream[Pass] | None:
        """The open stream of that id."""
        return self._streams.get(stream_id)

    def changes(self) -> tuple[list[Stream[Pass]], list[bytes]]:
        """Streams opened, and ids of those closed, since the last call; what came and went is in both."""
        with self._lock:
            opened, self._opened = self._opened, []
            closed, self._closed = self._closed, []
        return opened, closed

    def _rung(self, bell: Bell) -> None:
        if isinstance(bell, Stream):
            bell.look_soon(self.clock())

    def _close_oldest(self, new: Stream[Pass]) -> None:
        here = [
            bell
            for bell in self.hub.at(new.recipient_id)
            if isinstance(bell, Stream)
            and bell.ending is None
            and (not self._apart or bell.standing == new.standing)
        ]
        for stream in sorted(here, key=lambda s: s.opened_at)[:-MOST_OF_AN_AGENT]:
            stream.end(End.REPLACED)
