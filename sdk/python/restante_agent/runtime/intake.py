"""How much is claimed and when, what is held, and when a run is done. Shared by both runners."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from restante_agent.model.inbox import Claim
from restante_agent.runtime.board import Board
from restante_agent.runtime.delivery import Delivery
from restante_agent.runtime.plan import Plan
from restante_agent.runtime.work import End

log = logging.getLogger("restante_agent")


@dataclass(frozen=True, slots=True)
class ClaimNow:
    limit: int


@dataclass(frozen=True, slots=True)
class Wait:
    """Until the board changes, or the seconds are over (None: no limit)."""

    seconds: float | None


@dataclass(frozen=True, slots=True)
class Finished:
    """No more claims: stopped, or all is done."""


class Intake:
    """Pure but for the board, which its callers hold."""

    def __init__(self, board: Board, plan: Plan) -> None:
        self._board, self._concurrency = board, plan.concurrency
        self._until_empty, self._nothing_left = plan.until_empty, False

    def next(self) -> ClaimNow | Wait | Finished:
        board = self._board
        if board.stopping or (self._until_empty and self._nothing_left):
            return Finished()
        free = self._concurrency - len(board.leases)
        if free <= 0:
            return Wait(None)
        left = board.pacing.due_at() - board.clock.monotonic()
        return Wait(left) if left > 0 else ClaimNow(free)

    def begin(self, claim: Claim, *, asked: int) -> list[Delivery]:
        """The deliveries of a claim, their leases noted."""
        # Only a claim made while nothing was held proves that nothing is left: the end of a
        # handler may have made the next event of its key claimable.
        alone = asked == self._concurrency
        self._nothing_left = alone and not (claim.events or claim.claimable or claim.spent)
        board, begun = self._board, []
        for event in claim.events:
            delivery = Delivery(event, monotonic=board.clock.monotonic)
            remaining = event.lease_remaining_ms / 1000
            board.leases.take(delivery, since=claim.sent_at, remaining_seconds=remaining)
            board.counts["claimed"] += 1
            log.info("claim event_id=%s generation=%d", event.event_id, event.claim_generation)
            begun.append(delivery)
        board.changed.notify_all()
        return begun

    def ended(self, delivery: Delivery, end: End) -> None:
        board = self._board
        log.info("%s event_id=%s", end.value, delivery.event.event_id)
        board.leases.drop(delivery)
        board.counts[end.value] += 1
        if delivery.event.ordering_key is not None or self._until_empty:
            board.pacing.ring()  # the key's next event has just become claimable
        board.changed.notify_all()
