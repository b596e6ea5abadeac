"""Two units of work at once, each in a thread and on a connection of its own, stopped where a race is.

A player that holds has done its verb, with all that is written before a commit, and has its locks;
it goes on when it is told to. Nothing here sleeps: who must wait is seen waiting by the server.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Generic, TypeVar

from sqlalchemy.orm import Session

from restante.storage.clock import OFFSET, offset
from restante.storage.transaction import Database, run_before_commit
from tests.support.locks import connection_id, wait_until_blocked

T = TypeVar("T")
PATIENCE_SECONDS = 20
_players: list[Player[Any]] = []


class RolledBack(Exception):
    """The player was told to roll back."""


class Player(Generic[T]):
    """A unit of work in a thread."""

    def __init__(
        self, database: Database, work: Callable[[Session], T], *, holding: bool = False
    ) -> None:
        self.database = database
        self.number: int | None = None
        self.session: Session | None = None
        self.tries = 0
        self._work, self._holding = work, holding
        self._holds, self._go = threading.Event(), threading.Event()
        self._rolls_back = False
        self._answer: T | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._play, daemon=True)
        _players.append(self)
        self._thread.start()
        if holding:
            self._await(self._holds, "the player holds")

    def commit(self) -> T:
        """Let it commit → its answer."""
        self._go.set()
        return self.answer()

    def order_back(self) -> None:
        """Have it roll back, if it has not ended."""
        self._rolls_back = True
        self._go.set()
        self._thread.join(PATIENCE_SECONDS)

    def roll_back(self) -> None:
        """Have it roll back instead."""
        self.order_back()
        assert isinstance(self._error, RolledBack), self._error

    def answer(self) -> T:
        """What it answered, once it is done; its error is raised."""
        self._thread.join(PATIENCE_SECONDS)
        assert not self._thread.is_alive(), "the unit of work does not end"
        if self._error is not None:
            raise self._error
        return self._answer  # type: ignore[return-value]  # it has ended without an error

    def pass_time(self, seconds: float) -> None:
        """Move the clock of the try that runs now, as if its wait had lasted so long."""
        assert self.session is not None
        self.session.info[OFFSET] = offset(self.session) + timedelta(seconds=seconds)

    def wait_until_blocked(self) -> None:
        """Return once its connection waits for a lock of another."""
        wait_until_blocked(self.database.engine, lambda: self.number)

    def _play(self) -> None:
        try:
            self._answer = self.database.run(self._once)
        except BaseException as error:  # noqa: BLE001 - it is raised where the answer is asked for
            self._error = error
        self._holds.set()

    def _once(self, session: Session) -> T:
        self.number, self.session = connection_id(session.connection()), session
        self.tries += 1
        answer = self._work(session)
        if self._holding:
            run_before_commit(session)
            self._holds.set()
            self._await(self._go, "the player is told to go on")
        if self._rolls_back:
            raise RolledBack
        return answer

    def _await(self, event: threading.Event, what: str) -> None:
        if not event.wait(PATIENCE_SECONDS):
            raise TimeoutError(what)
        if self._error is not None and not self._rolls_back:
            raise self._error


def leave() -> None:
    """Have every player that still holds roll back."""
    while _players:
        player = _players.pop()
        player.order_back()


class Stop:
    """A place inside a verb where one thread stops until it is told to go on."""

    def __init__(self) -> None:
        self._reached, self._go = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None

    def here(self) -> None:
        """The first thread that comes by stops."""
        if self._thread is None:
            self._thread = threading.current_thread()
            self._reached.set()
            if not self._go.wait(PATIENCE_SECONDS):
                raise TimeoutError("nobody let it go on")

    def wait_until_reached(self) -> None:
        assert self._reached.wait(PATIENCE_SECONDS), "no thread came to the stop"

    def let_go(self) -> None:
        self._go.set()


@contextmanager
def stop_before(patch: Any, owner: Any, name: str) -> Iterator[Stop]:
    """The first thread that calls `owner.name` stops before it; `patch`: pytest's monkeypatch."""
    stop, real = Stop(), getattr(owner, name)

    def call(*args: Any, **named: Any) -> Any:
        stop.here()
        return real(*args, **named)

    patch.setattr(owner, name, call)
    yield stop
    stop.let_go()


@contextmanager
def stop_after(patch: Any, owner: Any, name: str) -> Iterator[Stop]:
    """The first thread that has called `owner.name` stops with what it answered."""
    stop, real = Stop(), getattr(owner, name)

    def call(*args: Any, **named: Any) -> Any:
        answer = real(*args, **named)
        stop.here()
        return answer

    patch.setattr(owner, name, call)
    yield stop
    stop.let_go()


def at_once(database: Database, works: list[Callable[[Session], T]]) -> list[Any]:
    """All units of work, started together → the answer or the error of each."""
    ready = threading.Barrier(len(works))

    def together(work: Callable[[Session], T]) -> Callable[[Session], T]:
        waits = [ready]

        def begin(session: Session) -> T:
            if waits:
                waits.pop().wait(PATIENCE_SECONDS)
            return work(session)

        return begin

    players = [Player(database, together(work)) for work in works]
    outcomes: list[Any] = []
    for player in players:
        try:
            outcomes.append(player.answer())
        except Exception as error:  # noqa: BLE001 - an outcome like another
            outcomes.append(error)
    return outcomes
