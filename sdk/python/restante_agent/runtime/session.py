"""One run of the blocking runner: its threads, its main loop, its orderly end."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread

from restante_agent.client import Client
from restante_agent.errors import ConfigurationError, RestanteError
from restante_agent.model.inbox import Claim
from restante_agent.runtime.board import Board, Summary
from restante_agent.runtime.delivery import Delivery, Stopped, StopReason
from restante_agent.runtime.doorbell import Doorbell
from restante_agent.runtime.inquiry import Inquiry
from restante_agent.runtime.intake import ClaimNow, Finished, Intake, Wait
from restante_agent.runtime.keeper import Keeper
from restante_agent.runtime.outcome import (
    HandlerResult,
    Verb,
    verb_of_error,
    verb_of_result,
    verb_of_stop,
)
from restante_agent.runtime.plan import Plan
from restante_agent.runtime.record import Finished as Known
from restante_agent.runtime.record import Record
from restante_agent.runtime.renewal import Renewal
from restante_agent.runtime.script import play
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
from restante_agent.wire.retry import NO_RETRY, RetryPolicy

log = logging.getLogger("restante_agent")

Handler = Callable[[Delivery], HandlerResult]
FAREWELL = RetryPolicy(attempts=3, budget_seconds=3.0)


class Session:
    """Made for one run. Every event held has a worker thread of its own."""

    def __init__(
        self,
        client: Client,
        handler: Handler,
        *,
        board: Board,
        record: Record,
        inquiry: Inquiry,
        consumer: str,
        plan: Plan,
    ) -> None:
        self._client, self._handler = client, handler
        self._board, self._record, self._inquiry = board, record, inquiry
        self._consumer, self._plan = consumer, plan
        self._intake = Intake(board, plan)
        self._doorbell = Doorbell(client, board)
        renewal = Renewal(client.core, board, lease_seconds=plan.lease_seconds)
        self._keeper = Keeper(client, board, renewal, on_silence=self._doorbell.abort)
        self._asking = client.with_options(retry=NO_RETRY)
        self._queue: SimpleQueue[Delivery | None] = SimpleQueue()
        loops = [self._keeper.run, *([self._doorbell.run] if plan.stream else [])]
        loops += [self._worker] * plan.concurrency
        self._threads = [
            Thread(target=self._guarded, args=(loop,), daemon=True, name="restante")
            for loop in loops
        ]

    def run(self) -> Summary:
        for thread in self._threads:
            thread.start()
        try:
            while limit := self._due():
                claim = play(self._asking, self._inquiry.claim(limit))
                if claim is not None:
                    self._begin(claim, limit)
        except RestanteError as error:
            self._board.fail(error)
        finally:
            self._end()
        if self._board.fatal is not None:
            raise self._board.fatal
        return self._board.summary()

    def _guarded(self, loop: Callable[[], None]) -> None:
        """A thread that dies of a defect must not leave a runner that only looks alive."""
        try:
            loop()
        except Exception as error:  # a client closed under a straggler is none
            if not self._board.closed:
                log.exception("thread-failed")
                self._board.fail(ConfigurationError(f"the runner failed: {error!r}"))

    def _begin(self, claim: Claim, limit: int) -> None:
        with self._board.changed:
            begun = self._intake.begin(claim, asked=limit)
        for delivery in begun:
            self._queue.put(delivery)

    def _due(self) -> int:
        """Waits until a claim is due and a worker is free; how many are, 0: no more claims."""
        with self._board.changed:
            while True:
                match self._intake.next():
                    case ClaimNow(limit):
                        return limit
                    case Wait(seconds):
                        self._board.wait(seconds)
                    case Finished():
                        return 0

    def _worker(self) -> None:
        while (delivery := self._queue.get()) is not None:
            end = self._work(delivery)
            with self._board.changed:
                self._intake.ended(delivery, end)

    def _work(self, delivery: Delivery) -> End:
        steps = work(delivery, self._board.random)
        try:
            effect = next(steps)
            while True:
                try:
                    reply = self._perform(delivery, effect)
                except RestanteError as error:
                    effect = steps.throw(error)
                else:
                    effect = steps.send(reply)
        except StopIteration as ended:
            end: End = ended.value
            return end

    def _perform(self, delivery: Delivery, effect: Effect) -> Known | Verb | None:
        match effect:
            case Recall():
                return self._record.find(delivery.event.event_id)
            case Handle():
                return self._handle(delivery)
            case Remember():
                self._remember(delivery, effect)
            case Settle():
                call = settle_call(self._client.core, delivery, effect.verb)
                tell_quarantine(delivery, self._client.perform(call))
            case Pause():
                self._pause(delivery, effect.seconds)
        return None

    def _pause(self, delivery: Delivery, seconds: float) -> None:
        board = self._board
        until = board.clock.monotonic() + seconds
        with board.changed:
            while not board.closed and (left := until - board.clock.monotonic()) > 0:
                if delivery.must_stop:
                    return
                board.wait(left)

    def _handle(self, delivery: Delivery) -> Verb | None:
        if delivery.stop_reason is not None:  # before it was begun
            return verb_of_stop(delivery)
        try:
            with handling(delivery.event) as delivery.traceparent:
                result = self._handler(delivery)
        except (Exception, SystemExit) as error:
            if not isinstance(error, Stopped):
                log.warning(
                    "handler event_id=%s raised=%r", delivery.event.event_id, error, exc_info=error
                )
            return verb_of_error(delivery, error)
        return verb_of_result(delivery, result)

    def _remember(self, delivery: Delivery, effect: Remember) -> None:
        try:
            self._record.add(delivery.event.event_id, effect.result)
        except sqlite3.Error as error:
            # The work is done: ack it all the same, then stop rather than run without a record.
            self._board.fail(ConfigurationError(f"the record cannot be written: {error}"))

    def _end(self) -> None:
        """Finish or give back what is held, then close. Bounded by the drain and the last seconds."""
        board = self._board
        board.stop() if not board.stopping else None
        patience = 0.0 if board.fatal is not None else self._plan.drain_seconds
        if not self._empty_by(lambda: board.stop_at + patience):
            board.tell_all(StopReason.SHUTDOWN)
            until = board.clock.monotonic() + self._plan.last_seconds
            self._empty_by(lambda: until)
        if len(board.leases) or self._inquiry.uncertain:
            self._give_back()
        with board.changed:
            board.closed = True
            board.changed.notify_all()
        self._doorbell.abort()
        for _ in range(self._plan.concurrency):
            self._queue.put(None)
        for thread in self._threads:
            thread.join(timeout=1.0)

    def _empty_by(self, deadline: Callable[[], float]) -> bool:
        board = self._board
        with board.changed:
            while len(board.leases):
                left = deadline() - board.clock.monotonic()
                if left <= 0:
                    return False
                board.wait(left)
            return True

    def _give_back(self) -> None:
        try:
            self._client.with_options(retry=FAREWELL, read_seconds=5.0).release_all(
                consumer=self._consumer
            )
            log.info("give-back consumer=%s", self._consumer)
        except RestanteError as error:
            log.warning("give-back failed error=%s; the leases end by themselves", error)
