"""Reading an inbox by cursor, without claiming: for agents that keep their own books.

Acknowledge with `Client.commit`, or not at all; the position is kept in a file of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random

from restante_agent.client import Client
from restante_agent.errors import (
    ACCESS,
    PASSING,
    CursorGone,
    NotFound,
    RestanteError,
    UnexpectedAnswer,
)
from restante_agent.model.inbox import Page, State
from restante_agent.runtime.access import Access
from restante_agent.runtime.places import state_directory
from restante_agent.runtime.plan import Recovery
from restante_agent.runtime.record import Position, Record

WAIT_SECONDS = 30
FAILURE_CEILING_SECONDS = 60.0


class Reader:
    """Pages of an inbox, from where the last run's safe page ended.

    A page counts as safe, and the position behind it is written, when the next one is asked for:

    >>> for page in Reader(client).pages():
    ...     store(page.events)

    `name` tells readers of one agent apart. `recovery(problem, state)` is called after a 410,
    before reading goes on from where the server says.
    """

    def __init__(
        self,
        client: Client,
        *,
        name: str = "reader",
        state_dir: Path | None = None,
        projects: Sequence[str] | None = None,
        status: str | None = None,
        limit: int = 100,
        recovery: Recovery | None = None,
        random: Random | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._client, self._projects, self._status = client, projects, status
        self._limit, self._recovery, self._sleep = limit, recovery, sleep
        self._random = random or Random()  # noqa: S311 - spreads waits, guards nothing
        folder = state_directory(client.core.base_url, client.agent_id, state_dir)
        self._record = Record(folder / f"{name}.sqlite3")
        self._position = self._record.position()
        self._access, self._admitted = Access("reading"), False

    def pages(self, *, follow: bool = True) -> Iterator[Page]:
        """Pages with events; with `follow` it waits for more, for ever, through outages.

        Also while its access is taken away, once it has had it: before, a refusal is raised.
        """
        failures = 0
        while True:
            try:
                page = self._next(wait_seconds=WAIT_SECONDS if follow else None)
            except (*PASSING, *ACCESS) as error:
                if not (follow and self._waits_out(error)):
                    raise
                failures += 1
                self._sleep(self._wait_after(error, failures))
                continue
            failures = 0
            self._allowed()
            if page is None:  # recovered: read from the new position
                continue
            if page.events:
                yield page
            self._position = Position(page.next_cursor, page.epoch)
            self._record.move(self._position)
            if not page.events and not page.has_more:
                if not follow:
                    return
                if page.claimable:
                    # What others may claim ends the server's wait at once; its pace is kept to.
                    named = (page.next_poll_ms or 1000) / 1000
                    self._sleep(named * self._random.uniform(1.0, 1.2))

    def close(self) -> None:
        self._record.close()

    def _next(self, *, wait_seconds: int | None) -> Page | None:
        position = self._position
        try:
            return self._client.read(
                position.cursor if position else None,
                limit=self._limit,
                projects=self._projects,
                status=self._status,
                wait_seconds=wait_seconds,
                epoch=position.epoch if position else None,
            )
        except CursorGone as gone:
            self._recover(gone)
            return None

    def _recover(self, gone: CursorGone) -> None:
        state: State | None = None
        if gone.state_url is not None:
            try:
                state = self._client.state(gone.state_url)
            except (NotFound, UnexpectedAnswer):
                state = None
        if self._recovery is not None:
            self._recovery(gone, state)
        found = Position(state.cursor, state.epoch) if state else Position(gone.head, gone.epoch)
        self._record.reset(found)
        self._position = found

    def _waits_out(self, error: RestanteError) -> bool:
        if not isinstance(error, ACCESS):
            return True
        if self._admitted:
            self._access.refused(error)
        return self._admitted

    def _allowed(self) -> None:
        self._admitted = True
        self._access.granted()

    def _wait_after(self, error: RestanteError, failures: int) -> float:
        named = getattr(error, "retry_after_seconds", None)
        if named is not None:
            return float(named) * self._random.uniform(1.0, 1.25)
        return self._random.uniform(0.1, min(FAILURE_CEILING_SECONDS, 2.0 ** min(failures, 10)))
