"""A runner in a thread of its own, against the fake server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from threading import Thread
from typing import Any

from restante_agent import (
    Agent,
    Client,
    Delivery,
    Summary,
)
from restante_agent.runtime.board import Board
from restante_agent.runtime.inquiry import Inquiry
from restante_agent.runtime.plan import Plan
from restante_agent.runtime.record import Record
from restante_agent.runtime.script import play
from tests.sdk.fake_answers import AGENT, SECRET
from tests.sdk.fake_inbox import FakeInbox
from tests.sdk.fake_server import FakeServer

LONG_LEASE_SECONDS = 30


class Running:
    """An agent in a thread of its own."""

    def __init__(self, agent: Agent) -> None:
        self.agent, self.summary, self.error = agent, Summary(), None
        self.thread = Thread(target=self._run)

    def _run(self) -> None:
        try:
            self.summary = self.agent.run(handle_signals=False)
        except Exception as error:  # noqa: BLE001 - the test looks at it
            self.error = error

    def stop(self) -> Summary:
        self.agent.stop()
        self.thread.join(30)
        assert not self.thread.is_alive()
        return self.summary


class Asking:
    """The claiming part of a run, on a clock moved by hand: `rounds` are claims that were due."""

    def __init__(
        self, client: Client, clock: Any, path: Path, *, patient: bool = True, **plan: Any
    ) -> None:
        self.client, self.clock = client, clock
        self.board = Board(clock=clock, random=Random(3), patient=patient)
        self.inquiry = Inquiry(
            self.client.core,
            self.board,
            Record(path / "record.sqlite3"),
            consumer="c",
            plan=Plan(**plan),
        )

    def once(self) -> int:
        """Wait until a claim is due, claim; the events it got."""
        self.clock.now = max(self.clock.now, self.board.pacing.due_at())
        claim = play(self.client, self.inquiry.claim(10))
        return len(claim.events) if claim else 0


@contextmanager
def running(agent: Agent) -> Iterator[Running]:
    run = Running(agent)
    run.thread.start()
    try:
        yield run
    finally:
        run.agent.stop()
        run.agent.stop()
        run.thread.join(30)


def make(
    server: FakeServer, handler: Callable[[Delivery], Any], path: Path, **options: Any
) -> Agent:
    return Agent(Client(server.url, AGENT, SECRET), handler, state_dir=path, **options)


def streaming(server: FakeServer) -> bool:
    return server.streams_open == 1


def done(delivery: Delivery) -> None:
    """A handler with nothing to do."""


def claims(inbox: FakeInbox) -> list[Any]:
    return [body for _, path, _, body in list(inbox.requests) if path.endswith("/claim")]
