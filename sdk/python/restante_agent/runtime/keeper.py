"""The thread that renews leases, tells handlers when one is lost, and watches the stream's silence."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable

from restante_agent.client import Client
from restante_agent.errors import NotFound, RestanteError, StaleClaim, ValidationFailed
from restante_agent.runtime.board import Board
from restante_agent.runtime.delivery import Delivery, StopReason
from restante_agent.wire.retry import NO_RETRY

log = logging.getLogger("restante_agent")


class Keeper:
    """`on_silence` is called when the stream said nothing for 2.5 heartbeats."""

    def __init__(
        self,
        client: Client,
        board: Board,
        *,
        lease_seconds: int,
        on_silence: Callable[[], None],
    ) -> None:
        # A renewal that hangs must leave time for the next, and for the other leases.
        self._client = client.with_options(
            retry=NO_RETRY, read_seconds=max(1.0, min(10.0, lease_seconds / 10))
        )
        self._board, self._lease_seconds = board, lease_seconds
        self._on_silence = on_silence

    def run(self) -> None:
        while self._wait():
            self.run_once()

    def run_once(self) -> int:
        """Renew what is due; how many renewals were sent."""
        board = self._board
        with board.changed:
            now = board.clock.monotonic()
            due, over = board.leases.due(now), board.leases.over(now)
            silent = board.stream_deadline is not None and board.stream_deadline <= now
            if silent:
                board.stream_deadline = None
        if silent:
            log.info("stream-silent")
            self._on_silence()
        for delivery in due:
            self._renew(delivery)
        for delivery in over:
            with board.changed:
                still = delivery in board.leases.over(board.clock.monotonic())
            if still:
                delivery.stop(StopReason.LEASE_EXPIRED)
        return len(due)

    def _wait(self) -> bool:
        """Until something is due; False once the board is closed."""
        board = self._board
        with board.changed:
            while not board.closed:
                due = min(board.leases.next_at(), board.stream_deadline or math.inf)
                left = due - board.clock.monotonic()
                if left <= 0:
                    return True
                board.clock.wait(board.changed, None if math.isinf(left) else left)
            return False

    def _renew(self, delivery: Delivery) -> None:
        event, progress = delivery.event, delivery.progress
        try:
            renewed = self._client.renew(
                event.event_id,
                event.claim_generation,
                lease_seconds=self._lease_seconds,
                progress=progress,
            )
        except (StaleClaim, NotFound) as error:
            reason = error.reason if isinstance(error, StaleClaim) else "not_found"
            log.warning("lease-lost event_id=%s reason=%s", event.event_id, reason)
            delivery.stop(StopReason.LEASE_LOST)
            return
        except ValidationFailed as error:
            log.warning("drop-progress event_id=%s error=%s", event.event_id, error)
            delivery.progress = None
            return
        except RestanteError as error:
            log.warning("renew-failed event_id=%s error=%s", event.event_id, error)
            return
        if delivery.progress is progress:
            delivery.progress = None
        with self._board.changed:
            self._board.leases.renewed(
                delivery,
                since=renewed.sent_at,
                remaining_seconds=renewed.lease_remaining_ms / 1000,
            )
        if renewed.cancel_requested:
            delivery.stop(StopReason.CANCEL_REQUESTED)
