"""Calls that wait in a process share a transaction (decision 0019). Nobody waits to be joined.

Two calls run at a time, each in a transaction of its own. Who finds both running waits; when one of
them ends, all that wait run together, and whoever comes while they run waits for their end. In a
crowd one runs at a time. Whatever goes wrong with a transaction of many, each of them runs alone.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from sqlalchemy.orm import Session

from restante.storage.together import Outcome, Spoilt, run_together
from restante.storage.transaction import Database, run_after_commit

log = logging.getLogger("restante.storage")
T = TypeVar("T")

LANES = 2
CROWD = 1.25
"""Where so many wait on average when a transaction ends, one runs at a time: more share it."""

_SMOOTHING = 1 / 8

MOST_CALLS = 8
MOST_EVENTS = 200
"""Of all calls of a transaction."""

LARGE = 50
"""A call of more events gains nothing by sharing, and waits for nobody."""

PATIENCE_SECONDS = 0.5
"""Nobody waits longer than this, nor behind transactions none of which has ended for so long."""


class Kind(StrEnum):
    """Calls of one kind take the same locks in the same order."""

    CLAIM = "claim"
    ACK = "ack"
    PUBLISH = "publish"
    NONCE = "nonce"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharing:
    """How a call may share a transaction.

    `order`: its place among the others, the id of the inbox or the hash of the nonce whose row it
    locks. `once`: two calls with the same never share (a claim locks what it takes, and no SKIP
    LOCKED skips its own).
    """

    kind: Kind
    order: bytes
    events: int
    once: bytes | None = None


class _Call:
    """A call that waits. It leads `batch`, where it has one; without an outcome it runs alone."""

    __slots__ = ("batch", "context", "outcome", "sharing", "wake", "work")

    def __init__(self, work: Callable[[Session], Any], sharing: Sharing) -> None:
        self.work, self.sharing = work, sharing
        self.context = copy_context()
        self.batch: list[_Call] = []
        self.outcome: Outcome | None = None
        self.wake = threading.Lock()
        self.wake.acquire()


class Combiner:
    """Calls of one kind, in one process."""

    def __init__(
        self,
        database: Database,
        *,
        patience_seconds: float = PATIENCE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        # SQLite's writers wait for each other as it is, and gain nothing
        self._is_server = database.engine.dialect.name != "sqlite"
        self._patience = patience_seconds
        self._clock = clock
        self._mutex = threading.Lock()
        self._waiting: list[_Call] = []
        self._running = 0
        self._are_together = False
        self._crowd = 0.0
        self._ended_at = clock()

    def run(self, work: Callable[[Session], T], sharing: Sharing) -> T:
        """As Database.run, perhaps with other calls in the same transaction."""
        if not self._is_server or sharing.events > LARGE:
            return self._database.run(work)
        call = None
        with self._mutex:
            has_lane = self._has_room()
            if has_lane:
                self._begin(1)
            elif self._clock() - self._ended_at <= self._patience:
                call = _Call(work, sharing)
                self._waiting.append(call)
        if call is not None:
            has_lane = self._wait(call)
            if call.outcome is not None:
                answer: T = _told(call.outcome)
                return answer
        try:
            return self._database.run(work)
        finally:
            if has_lane:
                self._end(1)

    def _wait(self, call: _Call) -> bool:
        """Until it is this call's turn, or it has an outcome → whether it has a lane for itself."""
        try:
            if not call.wake.acquire(timeout=self._patience):
                with self._mutex:
                    if call in self._waiting:
                        self._waiting.remove(call)
                        return False
                call.wake.acquire()  # others run it: that ends
        except BaseException:
            self._leave(call)
            raise
        if len(call.batch) > 1:
            self._lead(call)
        return len(call.batch) == 1

    def _lead(self, leader: _Call) -> None:
        """Run the batch; those that get no outcome run alone."""
        calls = sorted(leader.batch, key=lambda call: call.sharing.order)
        try:
            outcomes = run_together(self._database, [(call.work, call.context) for call in calls])
            for call, outcome in zip(calls, outcomes, strict=True):
                call.outcome = outcome
        except Spoilt as spoilt:
            log.info("spoilt calls=%s cause=%s", len(calls), type(spoilt.__cause__).__name__)
        finally:
            self._hand_on(leader)

    def _leave(self, call: _Call) -> None:
        """A call that was waiting is given up."""
        with self._mutex:
            if call in self._waiting:
                self._waiting.remove(call)
        if call.batch:
            self._hand_on(call)

    def _hand_on(self, leader: _Call) -> None:
        self._end(len(leader.batch))
        for call in leader.batch:
            if call is not leader:
                call.wake.release()

    def _has_room(self) -> bool:
        if self._running == 0:
            return True
        return self._running < LANES and not self._are_together and self._crowd < CROWD

    def _begin(self, calls: int) -> None:
        if self._running == 0:
            self._ended_at = self._clock()
        self._running += 1
        self._are_together = calls > 1

    def _end(self, calls: int) -> None:
        """A transaction is over: those that wait may begin."""
        with self._mutex:
            self._running -= 1
            if calls > 1:
                self._are_together = False
            self._ended_at = self._clock()
            self._crowd += (len(self._waiting) - self._crowd) * _SMOOTHING
            while self._waiting and self._has_room():
                leader = self._waiting[0]
                leader.batch = self._take()
                self._begin(len(leader.batch))
                leader.wake.release()

    def _take(self) -> list[_Call]:
        """Of those that wait, in the order they came, as many as may share a transaction."""
        taken: list[_Call] = []
        left: list[_Call] = []
        events = 0
        once: set[bytes | None] = set()
        for call in self._waiting:
            sharing = call.sharing
            events += sharing.events
            if taken and (
                len(taken) >= MOST_CALLS
                or events > MOST_EVENTS
                or (sharing.once is not None and sharing.once in once)
            ):
                events -= sharing.events
                left.append(call)
            else:
                taken.append(call)
                once.add(sharing.once)
        self._waiting = left
        return taken


def _told(outcome: Outcome) -> Any:
    if outcome.refusal is not None:
        raise outcome.refusal
    if outcome.session is not None:
        run_after_commit(outcome.session)
    return outcome.answer
