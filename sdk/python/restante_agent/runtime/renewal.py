"""Keeping leases: which to renew now, what a renewal's answer means, which nobody could renew."""

from __future__ import annotations

import logging
import math

from restante_agent.errors import (
    ACCESS,
    REFUSED,
    ApiError,
    NotFound,
    RestanteError,
    StaleClaim,
)
from restante_agent.model.settle import Renew, Renewed, Settled, Settlement
from restante_agent.runtime.access import Access
from restante_agent.runtime.board import Board
from restante_agent.runtime.delivery import Delivery, StopReason
from restante_agent.runtime.script import Script
from restante_agent.wire import settle_calls
from restante_agent.wire.core import Core

log = logging.getLogger("restante_agent")

BATCH = 100


class Renewal:
    """Scripts for either runner.

    Their calls are made without retries and with a short read timeout (`read_seconds`): one that
    hangs must leave time for the next, and for other leases.
    """

    def __init__(self, core: Core, board: Board, *, lease_seconds: int) -> None:
        self._core, self._board, self._lease_seconds = core, board, lease_seconds
        self._access = Access("renewing leases")

    @property
    def read_seconds(self) -> float:
        return max(1.0, min(10.0, self._lease_seconds / 10))

    def next_at(self) -> float:
        """When there is something to do, also because the stream fell silent."""
        board = self._board
        with board.changed:
            return min(board.leases.next_at(), board.stream_deadline or math.inf)

    def stream_is_silent(self) -> bool:
        """True once for a stream that said nothing for 2.5 heartbeats."""
        board = self._board
        with board.changed:
            deadline = board.stream_deadline
            if deadline is None or deadline > board.clock.monotonic():
                return False
            board.stream_deadline = None
        log.info("stream-silent")
        return True

    def due(self) -> list[Delivery]:
        with self._board.changed:
            return self._board.leases.due(self._board.clock.monotonic())

    def give_up_what_is_over(self) -> None:
        """Tell the handlers whose lease ended by this machine's clock."""
        board = self._board
        with board.changed:
            over = board.leases.over(board.clock.monotonic())
        for delivery in over:
            delivery.stop(StopReason.LEASE_EXPIRED)

    def renew_all(self, due: list[Delivery]) -> Script[None]:
        """One call for all; each stands or falls alone."""
        if len(due) == 1:
            yield from self._renew(due[0])
            return
        for start in range(0, len(due), BATCH):
            batch = due[start : start + BATCH]
            since = self._board.clock.monotonic()
            try:
                results: tuple[Settled, ...] = yield settle_calls.settle(
                    self._core, [self._line(d) for d in batch]
                )
            except REFUSED:  # one's progress is refused; find out whose
                for delivery in batch:
                    yield from self._renew(delivery)
            except ACCESS as error:
                self._access.refused(error)
            except RestanteError as error:
                log.warning("renew-failed count=%d error=%s", len(batch), error)
            else:
                found = {result.event_id: result for result in results}
                for delivery in batch:
                    self._take_in(delivery, found.get(delivery.event.event_id), since)

    def _renew(self, delivery: Delivery) -> Script[None]:
        event, progress = delivery.event, delivery.progress
        try:
            renewed: Renewed = yield settle_calls.renew(
                self._core,
                event.event_id,
                event.claim_generation,
                lease_seconds=self._lease_seconds,
                progress=progress,
            )
        except (StaleClaim, NotFound) as error:
            self._lost(delivery, error)
        except REFUSED as error:
            log.warning("drop-progress event_id=%s error=%s", event.event_id, error)
            delivery.progress = None
        except ACCESS as error:
            self._access.refused(error)
        except RestanteError as error:
            log.warning("renew-failed event_id=%s error=%s", event.event_id, error)
        else:
            if delivery.progress is progress:
                delivery.progress = None
            self._renewed(delivery, renewed.sent_at, renewed.lease_remaining_ms / 1000)
            if renewed.cancel_requested:
                delivery.stop(StopReason.CANCEL_REQUESTED)

    def _line(self, delivery: Delivery) -> Settlement:
        verb = Renew(self._lease_seconds, delivery.progress)
        return Settlement(delivery.event.event_id, delivery.generation, verb)

    def _take_in(self, delivery: Delivery, result: Settled | None, since: float) -> None:
        if result is None:
            return
        if result.error is not None:
            self._lost(delivery, result.error)
            return
        # The contract promises the status alone; what else is there is used.
        left = result.raw.get("lease_remaining_ms", self._lease_seconds * 1000)
        self._renewed(delivery, since, float(left) / 1000)
        if result.raw.get("cancel_requested"):
            delivery.stop(StopReason.CANCEL_REQUESTED)

    def _renewed(self, delivery: Delivery, since: float, remaining_seconds: float) -> None:
        self._access.granted()
        with self._board.changed:
            self._board.leases.renewed(delivery, since=since, remaining_seconds=remaining_seconds)

    def _lost(self, delivery: Delivery, error: ApiError) -> None:
        reason = error.reason if isinstance(error, StaleClaim) else error.slug
        log.warning("lease-lost event_id=%s reason=%s", delivery.event.event_id, reason)
        delivery.stop(StopReason.LEASE_LOST)
