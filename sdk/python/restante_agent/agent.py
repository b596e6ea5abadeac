"""The blocking runner: give it a handler, run it, stop it with a signal."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from threading import Thread, current_thread, main_thread
from types import FrameType

from restante_agent.client import Client
from restante_agent.errors import ConfigurationError
from restante_agent.runtime.board import Board, Summary
from restante_agent.runtime.clock import Clock, SystemClock
from restante_agent.runtime.consumer import consumer_name
from restante_agent.runtime.inquiry import Inquiry, Recovery
from restante_agent.runtime.places import state_directory
from restante_agent.runtime.record import Record
from restante_agent.runtime.session import Handler, Session


class Agent:
    """Works an agent's inbox: rings, claims, renews, hands events to `handler`, settles.

    >>> def handle(delivery):
    ...     return {"length": len(delivery.event.payload)}
    >>> Agent(Client.from_environment(), handle).run()

    The handler returns None or a JSON object (done, with that result), or ``Ack``, ``Release`` or
    ``Reject``; what it raises is a failed attempt. It is called in up to `concurrency` threads.
    An event that was finished before is acked without calling it.

    `lease_seconds`: how long an event is taken for; renewed in the background, so it need not
    cover the work, only outages. `drain_seconds`: what handlers get to finish after a stop.
    `recovery(problem, state)` is called after a 410, before work goes on. `state_dir`: where the
    record of finished events is kept, by default in the user's state directory.
    """

    def __init__(
        self,
        client: Client,
        handler: Handler,
        *,
        concurrency: int = 1,
        lease_seconds: int = 60,
        projects: Sequence[str] | None = None,
        consumer: str | None = None,
        state_dir: Path | None = None,
        drain_seconds: float = 20.0,
        recovery: Recovery | None = None,
        stream: bool = True,
        clock: Clock | None = None,
        random: Random | None = None,
    ) -> None:
        if not 1 <= concurrency <= 1000:
            raise ConfigurationError("concurrency must be between 1 and 1000")
        if not 1 <= lease_seconds <= 43_200:
            raise ConfigurationError("lease_seconds must be between 1 and 43200")
        self._client, self._handler = client, handler
        self._concurrency, self._lease_seconds = concurrency, lease_seconds
        self._projects, self._consumer = projects, consumer
        self._drain_seconds, self._recovery, self._stream = drain_seconds, recovery, stream
        self._clock = clock or SystemClock()
        self._random = random or Random()  # noqa: S311 - spreads waits, guards nothing
        self.state_dir = state_directory(client.core.base_url, client.agent_id, state_dir)
        self._board: Board | None = None
        self._stopped_early = False

    def run(self, *, until_empty: bool = False, handle_signals: bool = True) -> Summary:
        """Work until stopped; with `until_empty` until nothing is claimable and all is settled.

        SIGTERM and SIGINT stop it (main thread only): handlers finish, the rest is given back;
        a second one cuts the waiting short. Raises what no retry mends: Unauthenticated,
        InvalidClient, InsufficientScope, NotFound, ValidationFailed, ConfigurationError.
        """
        if self._board is not None:
            raise ConfigurationError("this agent is running already")
        with consumer_name(self.state_dir, self._consumer) as consumer:
            record = Record(self.state_dir / "record.sqlite3")
            self._board = board = Board(clock=self._clock, random=self._random)
            try:
                if self._stopped_early:
                    board.stop()
                with _signals(self.stop, wanted=handle_signals):
                    return self._session(board, record, consumer).run(until_empty=until_empty)
            finally:
                self._board, self._stopped_early = None, False
                record.close()

    def stop(self) -> None:
        """End the run from another thread; a second call does not wait for handlers."""
        board = self._board
        if board is None:
            self._stopped_early = True
        else:
            board.stop()

    def _session(self, board: Board, record: Record, consumer: str) -> Session:
        inquiry = Inquiry(
            self._client,
            board,
            record,
            consumer=consumer,
            lease_seconds=self._lease_seconds,
            projects=self._projects,
            recovery=self._recovery,
        )
        return Session(
            self._client,
            self._handler,
            board=board,
            record=record,
            inquiry=inquiry,
            consumer=consumer,
            concurrency=self._concurrency,
            lease_seconds=self._lease_seconds,
            drain_seconds=self._drain_seconds,
            stream=self._stream,
        )


@contextmanager
def _signals(stop: Callable[[], None], *, wanted: bool) -> Iterator[None]:
    if not wanted or current_thread() is not main_thread():
        yield
        return

    def received(number: int, frame: FrameType | None) -> None:
        # In a thread of its own: the one interrupted may hold the lock that stop() needs.
        Thread(target=stop, daemon=True).start()

    before = {n: signal.signal(n, received) for n in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
