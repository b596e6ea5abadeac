"""One run of the async runner: the same decisions as the blocking one, in one event loop."""

from __future__ import annotations

import logging
import math
import sqlite3
from collections.abc import Awaitable, Callable

import anyio
from anyio.abc import TaskGroup

from restante_agent.async_client import AsyncClient
from restante_agent.errors import ConfigurationError, RestanteError
from restante_agent.runtime.bell import Bell
from restante_agent.runtime.board import Board, Summary
from restante_agent.runtime.delivery import Delivery, Stopped, StopReason
from restante_agent.runtime.inquiry import Inquiry
from restante_agent.runtime.intake import ClaimNow, Intake, Wait
from restante_agent.runtime.listening import Listening
from restante_agent.runtime.outcome import (
    HandlerResult,
    Verb,
    verb_of_error,
    verb_of_result,
    verb_of_stop,
)
from restante_agent.runtime.plan import Plan
from restante_agent.runtime.record import Finished, Record
from restante_agent.runtime.renewal import Renewal
from restante_agent.runtime.script import play_async
from restante_agent.runtime.session import FAREWELL
from restante_agent.runtime.work import (
    Effect,
    End,
    Handle,
    Pause,
    Recall,
    Remember,
    Settle,
    settle_call,
    tell_quarantine,
    work,
)
from restante_agent.traces import handling
from restante_agent.wire.retry import NO_RETRY

log = logging.getLogger("restante_agent")

AsyncHandler = Callable[[Delivery], Awaitable[HandlerResult]]


class AsyncSession:
    """Made for one run. Every event held has a task of its own, cancelled when its work is to stop."""

    def __init__(
        self,
        client: AsyncClient,
        handler: AsyncHandler,
        *,
        board: Board,
        bell: Bell,
        record: Record,
        inquiry: Inquiry,
        consumer: str,
        plan: Plan,
    ) -> None:
        self._client, self._handler = client, handler
        self._board, self._bell, self._record, self._inquiry = board, bell, record, inquiry
        self._consumer, self._plan = consumer, plan
        self._intake = Intake(board, plan)
        self._renewal = Renewal(client.core, board, lease_seconds=plan.lease_seconds)
        self._listening = Listening(board, forget_tokens=client.forget_tokens)
        self._stream_scope: anyio.CancelScope | None = None

    async def run(self) -> Summary:
        failure: Exception | None = None
        async with anyio.create_task_group() as group:
            group.start_soon(self._keep)
            if self._plan.stream:
                group.start_soon(self._listen)
            try:
                await self._claim(group)
            except RestanteError as error:
                self._board.fail(error)
            except Exception as error:  # noqa: BLE001 - a hook's own, raised below without a group
                failure = error
            finally:
                with anyio.CancelScope(shield=True):
                    await self._end(hurry=failure is not None)
                group.cancel_scope.cancel()
        if failure is not None:
            raise failure
        if self._board.fatal is not None:
            raise self._board.fatal
        return self._board.summary()

    async def _claim(self, group: TaskGroup) -> None:
        asking = self._client.with_options(retry=NO_RETRY)
        while True:
            match self._intake.next():
                case ClaimNow(limit):
                    claim = await play_async(asking, self._inquiry.claim(limit))
                    for delivery in self._intake.begin(claim, asked=limit) if claim else ():
                        group.start_soon(self._work, delivery)
                case Wait(seconds):
                    await self._bell.wait(seconds)
                case _:
                    return

    async def _work(self, delivery: Delivery) -> None:
        end = End.UNSETTLED
        try:
            end = await self._steps(delivery)
        except Exception as error:  # a defect of ours ends the run, not the event loop
            log.exception("unsettled event_id=%s", delivery.event.event_id)
            self._board.fail(ConfigurationError(f"the runner failed: {error}"))
        finally:
            self._intake.ended(delivery, end)

    async def _steps(self, delivery: Delivery) -> End:
        steps = work(delivery, self._board.random)
        try:
            effect = next(steps)
            while True:
                try:
                    reply = await self._perform(delivery, effect)
                except RestanteError as error:
                    effect = steps.throw(error)
                else:
                    effect = steps.send(reply)
        except StopIteration as ended:
            end: End = ended.value
            return end

    async def _perform(self, delivery: Delivery, effect: Effect) -> Finished | Verb | None:
        match effect:
            case Recall():
                return self._record.find(delivery.event.event_id)
            case Handle():
                return await self._handle(delivery)
            case Remember():
                await self._remember(delivery, effect)
            case Settle():
                call = settle_call(self._client.core, delivery, effect.verb)
                tell_quarantine(delivery, await self._client.perform(call))
            case Pause():
                await anyio.sleep(effect.seconds)
        return None

    async def _handle(self, delivery: Delivery) -> Verb | None:
        if delivery.stop_reason is not None:  # before it was begun
            return verb_of_stop(delivery)
        with anyio.CancelScope() as scope:
            delivery.on_stop(lambda _: scope.cancel())
            try:
                with handling(delivery.event) as delivery.traceparent:
                    result = await self._handler(delivery)
                return verb_of_result(delivery, result)
            except (Exception, SystemExit) as error:
                if not isinstance(error, Stopped):
                    log.warning(
                        "handler event_id=%s raised=%r",
                        delivery.event.event_id,
                        error,
                        exc_info=error,
                    )
                return verb_of_error(delivery, error)
        return verb_of_stop(delivery)

    async def _remember(self, delivery: Delivery, effect: Remember) -> None:
        try:
            await anyio.to_thread.run_sync(self._record.add, delivery.event.event_id, effect.result)
        except sqlite3.Error as error:
            self._board.fail(ConfigurationError(f"the record cannot be written: {error}"))

    async def _keep(self) -> None:
        client = self._client.with_options(retry=NO_RETRY, read_seconds=self._renewal.read_seconds)
        while True:
            left = self._renewal.next_at() - self._board.clock.monotonic()
            if left > 0:
                await self._bell.wait(None if math.isinf(left) else left)
                continue
            if self._renewal.stream_is_silent() and self._stream_scope is not None:
                self._stream_scope.cancel()
            await play_async(client, self._renewal.renew_all(self._renewal.due()))
            self._renewal.give_up_what_is_over()

    async def _listen(self) -> None:
        client = self._client.with_options(retry=NO_RETRY)
        wait: float | None = 0.0
        while wait is not None:
            try:
                wait = await self._one_stream(client)
            except RestanteError as error:
                wait = self._listening.failed(error)
            self._listening.lost()
            await anyio.sleep(wait or 0.0)

    async def _one_stream(self, client: AsyncClient) -> float:
        with anyio.CancelScope() as self._stream_scope:
            silence = self._listening.silence_seconds
            async with client.subscribe(silence_seconds=silence) as stream:
                async for frame in stream:
                    wait = self._listening.heard(frame)
                    if wait is not None:
                        return wait
            return self._listening.ended(stream.retry_ms)
        return self._listening.ended(None)  # it was silent

    async def _end(self, *, hurry: bool) -> None:
        board = self._board
        if not board.stopping:
            board.stop()
        patience = 0.0 if hurry or board.fatal is not None else self._plan.drain_seconds
        if not await self._empty_by(lambda: board.stop_at + patience):
            board.tell_all(StopReason.SHUTDOWN)
            until = board.clock.monotonic() + self._plan.last_seconds
            await self._empty_by(lambda: until)
        if len(board.leases) or self._inquiry.uncertain:
            await self._give_back()
        board.closed = True

    async def _empty_by(self, deadline: Callable[[], float]) -> bool:
        while len(self._board.leases):
            left = deadline() - self._board.clock.monotonic()
            if left <= 0:
                return False
            await self._bell.wait(left)
        return True

    async def _give_back(self) -> None:
        try:
            client = self._client.with_options(retry=FAREWELL, read_seconds=5.0)
            await client.release_all(consumer=self._consumer)
            log.info("give-back consumer=%s", self._consumer)
        except RestanteError as error:
            log.warning("give-back failed error=%s; the leases end by themselves", error)
