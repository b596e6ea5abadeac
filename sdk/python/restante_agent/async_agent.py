"""The async runner: as `Agent`, with an async handler, in the caller's event loop."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import anyio

from restante_agent.async_client import AsyncClient
from restante_agent.errors import ConfigurationError
from restante_agent.runtime.async_session import AsyncHandler, AsyncSession
from restante_agent.runtime.bell import Bell
from restante_agent.runtime.board import Board, Summary
from restante_agent.runtime.clock import SystemClock
from restante_agent.runtime.consumer import consumer_name
from restante_agent.runtime.inquiry import Inquiry
from restante_agent.runtime.places import state_directory
from restante_agent.runtime.plan import GIVE_UP_SECONDS, Plan, Recovery
from restante_agent.runtime.record import Record


class AsyncAgent:
    """As `Agent`. The handler is a coroutine; when its work is to stop, it is cancelled.

    >>> async def handle(delivery):
    ...     return {"ok": True}
    >>> await AsyncAgent(client, handle, concurrency=20).run()
    """

    def __init__(
        self,
        client: AsyncClient,
        handler: AsyncHandler,
        *,
        concurrency: int = 1,
        lease_seconds: int = 60,
        projects: Sequence[str] | None = None,
        consumer: str | None = None,
        state_dir: Path | None = None,
        drain_seconds: float = 20.0,
        recovery: Recovery | None = None,
        stream: bool = True,
        random: Random | None = None,
    ) -> None:
        self._client, self._handler, self._consumer = client, handler, consumer
        self._plan = Plan(
            concurrency=concurrency,
            lease_seconds=lease_seconds,
            projects=projects,
            drain_seconds=drain_seconds,
            recovery=recovery,
            stream=stream,
        )
        self._random = random or Random()  # noqa: S311 - spreads waits, guards nothing
        self.state_dir = state_directory(client.core.base_url, client.agent_id, state_dir)
        self._board: Board | None = None

    async def run(
        self,
        *,
        until_empty: bool = False,
        give_up_seconds: float | None = GIVE_UP_SECONDS,
        handle_signals: bool = False,
    ) -> Summary:
        """As `Agent.run`. Signals are left to the application unless `handle_signals` is set."""
        if self._board is not None:
            raise ConfigurationError("this agent is running already")
        with consumer_name(self.state_dir, self._consumer) as consumer:
            record, bell = Record(self.state_dir / "record.sqlite3"), Bell()
            self._board = board = Board(
                clock=SystemClock(), random=self._random, patient=not until_empty, changed=bell
            )
            try:
                plan = replace(
                    self._plan,
                    until_empty=until_empty,
                    give_up_seconds=give_up_seconds if until_empty else None,
                )
                session = AsyncSession(
                    self._client,
                    self._handler,
                    board=board,
                    bell=bell,
                    record=record,
                    inquiry=Inquiry(self._client.core, board, record, consumer=consumer, plan=plan),
                    consumer=consumer,
                    plan=plan,
                )
                return await self._with_signals(session) if handle_signals else await session.run()
            finally:
                self._board = None
                record.close()

    def stop(self) -> None:
        """End the run, from a task of the same event loop; a second call does not wait."""
        if self._board is not None:
            self._board.stop()

    async def _with_signals(self, session: AsyncSession) -> Summary:
        failure: Exception | None = None
        summary = Summary()
        async with anyio.create_task_group() as group:
            group.start_soon(self._stop_on_signals)
            try:
                summary = await session.run()
            except Exception as error:  # noqa: BLE001 - raised below, without the group around it
                failure = error
            group.cancel_scope.cancel()
        if failure is not None:
            raise failure
        return summary

    async def _stop_on_signals(self) -> None:
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as received:
            async for _ in received:
                self.stop()
