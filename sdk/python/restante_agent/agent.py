"""The blocking runner: give it a handler, run it, stop it with a signal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

from restante_agent.client import Client
from restante_agent.errors import ConfigurationError
from restante_agent.runtime.board import Board, Summary
from restante_agent.runtime.clock import Clock, SystemClock
from restante_agent.runtime.consumer import consumer_name
from restante_agent.runtime.inquiry import Inquiry
from restante_agent.runtime.places import state_directory
from restante_agent.runtime.plan import GIVE_UP_SECONDS, Plan, Recovery
from restante_agent.runtime.record import Record
from restante_agent.runtime.session import Handler, Session
from restante_agent.runtime.stop_signals import stop_signals


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
    record of finished events is kept, by default in the user's state directory. `consumer`: the
    name under which events are held, by default one per host and process.
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
        self._client, self._handler, self._consumer = client, handler, consumer
        self._plan = Plan(
            concurrency=concurrency,
            lease_seconds=lease_seconds,
            projects=projects,
            drain_seconds=drain_seconds,
            recovery=recovery,
            stream=stream,
        )
        self._clock = clock or SystemClock()
        self._random = random or Random()  # noqa: S311 - spreads waits, guards nothing
        self.state_dir = state_directory(client.core.base_url, client.agent_id, state_dir)
        self._board: Board | None = None
        self._stopped_early = False

    def run(
        self,
        *,
        until_empty: bool = False,
        give_up_seconds: float | None = GIVE_UP_SECONDS,
        handle_signals: bool = True,
    ) -> Summary:
        """Work until stopped; with `until_empty` until nothing is claimable and all is settled.

        SIGTERM and SIGINT stop it (main thread only): handlers finish, the rest is given back;
        a second one cuts the waiting short. Raises what no retry mends: NotFound,
        ValidationFailed, ConfigurationError; and Unauthenticated, InsufficientScope or OAuthError
        before it was let in, or with `until_empty`. Later these are waited out: an operator who
        took a grant away may give it back.

        With `until_empty` it also raises what kept the server from answering for `give_up_seconds`
        (None: it waits for ever): Unreachable, ServerFailure, RateLimited or UnexpectedAnswer.
        """
        if self._board is not None:
            raise ConfigurationError("this agent is running already")
        with consumer_name(self.state_dir, self._consumer) as consumer:
            record = Record(self.state_dir / "record.sqlite3")
            self._board = board = Board(
                clock=self._clock, random=self._random, patient=not until_empty
            )
            try:
                if self._stopped_early:
                    board.stop()
                plan = replace(
                    self._plan,
                    until_empty=until_empty,
                    give_up_seconds=give_up_seconds if until_empty else None,
                )
                inquiry = Inquiry(self._client.core, board, record, consumer=consumer, plan=plan)
                session = Session(
                    self._client,
                    self._handler,
                    board=board,
                    record=record,
                    inquiry=inquiry,
                    consumer=consumer,
                    plan=plan,
                )
                with stop_signals(self.stop, wanted=handle_signals):
                    return session.run()
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
