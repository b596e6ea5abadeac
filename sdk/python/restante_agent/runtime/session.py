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
from restante_agent.model.settle import Ack, Reject, Release
from restante_agent.runtime.board import Board, Summary
from restante_agent.runtime.delivery import Delivery, Stopped, StopReason
from restante_agent.runtime.doorbell import Doorbell
from restante_agent.runtime.inquiry import Inquiry
from restante_agent.runtime.keeper import Keeper
from restante_agent.runtime.outcome import (
    HandlerResult,
    Verb,
    verb_of_error,
    verb_of_result,
    verb_of_stop,
)
from restante_agent.runtime.record import Finished, Record
from restante_agent.runtime.work import Effect, End, Handle, Recall, Remember, Settle, work
from restante_agent.wire.retry import RetryPolicy

log = logging.getLogger("restante_agent")

Handler = Callable[[Delivery], HandlerResult]
# After handlers were told to stop, what they get before their leases are given back.
LAST_SECONDS = 5.0
FAREWELL = RetryPolicy(attempts=3, budget_seconds=3.0)


class Session:
    """Made for one run. `concurrency` events at most are held, each by a worker of its own."""

    def __init__(
        self,
        client: Client,
        handler: Handler,
        *,
        board: Board,
        record: Record,
        inquiry: Inquiry,
        consumer: str,
        concurrency: int,
        lease_seconds: int,
        drain_seconds: float,
        stream: bool,
    ) -> None:
        self._client, self._handler = client, handler
        self._board, self._record, self._inquiry = board, record, inquiry
        self._consumer, self._concurrency = consumer, concurrency
        self._drain_seconds = drain_seconds
        self._doorbell = Doorbell(client, board)
        self._keeper = Keeper(
            client, board, lease_seconds=lease_seconds, on_silence=self._doorbell.abort
        )
        self._queue: SimpleQueue[Delivery | None] = SimpleQueue()
        self._until_empty = self._nothing_left = False
        loops = [self._keeper.run, *([self._doorbell.run] if stream else [])]
        loops += [self._worker] * concurrency
        self._threads = [Thread(target=loop, daemon=True, name="restante") for loop in loops]

    def run(self, *, until_empty: bool) -> Summary:
        self._until_empty = until_empty
        for thread in self._threads:
            thread.start()
        try:
            while limit := self._free_when_due():
                claim = self._inquiry.claim(limit)
                if claim is not None:
                    self._begin(claim, alone=limit == self._concurrency)
        except RestanteError as error:
            self._board.fail(error)
        finally:
            self._end()
        if self._board.fatal is not None:
            raise self._board.fatal
        return self._board.summary()

    def _free_when_due(self) -> int:
        """Waits until a claim is due and a worker is free; how many are, 0: stop."""
        board = self._board
        with board.changed:
            while not board.stopping:
                free = self._concurrency - len(board.leases)
                if self._until_empty and self._nothing_left:
                    return 0
                left: float | None = None
                if free > 0:
                    left = board.pacing.due_at() - board.clock.monotonic()
                    if left <= 0:
                        return free
                board.clock.wait(board.changed, left)
            return 0

    def _begin(self, claim: Claim, *, alone: bool) -> None:
        board = self._board
        # Only a claim made while nothing was held proves that nothing is left: the end of a
        # handler may have made the next event of its key claimable.
        self._nothing_left = alone and not (claim.events or claim.claimable or claim.spent)
        for event in claim.events:
            delivery = Delivery(event, monotonic=board.clock.monotonic)
            with board.changed:
                board.leases.take(
                    delivery, since=claim.sent_at, remaining_seconds=event.lease_remaining_ms / 1000
                )
                board.counts["claimed"] += 1
                board.changed.notify_all()
            log.info("claim event_id=%s generation=%d", event.event_id, event.claim_generation)
            self._queue.put(delivery)

    def _worker(self) -> None:
        while (delivery := self._queue.get()) is not None:
            end = self._work(delivery)
            board = self._board
            with board.changed:
                board.leases.drop(delivery)
                board.ended(end)
                if delivery.event.ordering_key is not None or self._until_empty:
                    board.pacing.ring()  # the key's next event has just become claimable
                board.changed.notify_all()

    def _work(self, delivery: Delivery) -> End:
        steps = work(delivery)
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
            log.info("%s event_id=%s", end.value, delivery.event.event_id)
            return end
        except Exception as error:  # a defect of ours must not take the worker with it
            log.exception("unsettled event_id=%s", delivery.event.event_id)
            self._board.fail(ConfigurationError(f"the runner failed: {error}"))
            return End.UNSETTLED

    def _perform(self, delivery: Delivery, effect: Effect) -> Finished | Verb | None:
        match effect:
            case Recall():
                return self._record.find(delivery.event.event_id)
            case Handle():
                return self._handle(delivery)
            case Remember():
                self._remember(delivery, effect)
            case Settle():
                settle(self._client, delivery, effect.verb)
        return None

    def _handle(self, delivery: Delivery) -> Verb | None:
        if delivery.stop_reason is not None:  # before it was begun
            return verb_of_stop(delivery)
        try:
            result = self._handler(delivery)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a failed attempt
            if not isinstance(error, Stopped):
                log.warning("handler event_id=%s raised=%r", delivery.event.event_id, error)
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
        patience = 0.0 if board.fatal is not None else self._drain_seconds
        if not self._empty_by(lambda: board.stop_at + patience):
            board.tell_all(StopReason.SHUTDOWN)
            until = board.clock.monotonic() + LAST_SECONDS
            self._empty_by(lambda: until)
        if len(board.leases) or self._inquiry.uncertain:
            self._give_back()
        with board.changed:
            board.closed = True
            board.changed.notify_all()
        self._doorbell.abort()
        for _ in range(self._concurrency):
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
                board.clock.wait(board.changed, left)
            return True

    def _give_back(self) -> None:
        try:
            self._client.with_options(retry=FAREWELL, read_seconds=5.0).release_all(
                consumer=self._consumer
            )
            log.info("give-back consumer=%s", self._consumer)
        except RestanteError as error:
            log.warning("give-back failed error=%s; the leases end by themselves", error)


def settle(client: Client, delivery: Delivery, verb: Verb) -> None:
    event_id, generation = delivery.event.event_id, delivery.generation
    match verb:
        case Ack():
            client.ack(event_id, generation, result=verb.result)
        case Release():
            client.release(event_id, generation, delay_seconds=verb.delay_seconds, error=verb.error)
        case Reject():
            client.reject(event_id, generation, reason=verb.reason)
