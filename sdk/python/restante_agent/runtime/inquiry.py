"""The part of a run that claims: leftovers first, then what is there, and 410 on the way."""

from __future__ import annotations

import logging

from restante_agent.errors import (
    PASSING,
    CursorGone,
    NotFound,
    StaleClaim,
    UnexpectedAnswer,
)
from restante_agent.model.inbox import Claim, Held, State, Stats
from restante_agent.model.settle import FailureOutcome
from restante_agent.runtime.board import Board
from restante_agent.runtime.outcome import failed
from restante_agent.runtime.plan import Plan
from restante_agent.runtime.record import Position, Record
from restante_agent.runtime.script import Script
from restante_agent.wire import inbox_calls, settle_calls
from restante_agent.wire.call import new_key
from restante_agent.wire.core import Core

log = logging.getLogger("restante_agent")

HEAD_AGE_SECONDS = 600.0


class Inquiry:
    """Asks the server for work, as scripts that either runner plays. One at a time asks.

    Its calls are to be made without the client's own retries: `pacing` says when to ask again.
    """

    def __init__(
        self,
        core: Core,
        board: Board,
        record: Record,
        *,
        consumer: str,
        plan: Plan,
    ) -> None:
        self._core = core
        self._board, self._record = board, record
        self._consumer, self._plan = consumer, plan
        self._position = record.position()
        self._gone: CursorGone | None = None
        self._gone_in_a_row = 0
        self._claim_id: str | None = None
        self._leftovers_settled = False
        self._head_asked_at = board.clock.monotonic()

    @property
    def uncertain(self) -> bool:
        """Whether a claim was sent whose answer never came."""
        return self._claim_id is not None

    def claim(self, limit: int) -> Script[Claim | None]:
        """Up to `limit` events; None when nothing came of it and `pacing` knows when to come again."""
        with self._board.changed:
            self._board.pacing.asking()
        try:
            if not self._leftovers_settled:
                yield from self._settle_leftovers()
            if self._gone is not None:
                yield from self._recover(self._gone)
            yield from self._look_at_head()
            return (yield from self._ask(limit))
        except CursorGone as gone:
            lost = gone.lost or {}
            log.warning(
                "cursor-gone reason=%s lost=%s unsettled=%s",
                gone.reason,
                lost.get("count"),
                lost.get("unsettled"),
            )
            self._gone, self._position, self._claim_id = gone, None, None
            self._gone_in_a_row += 1
            with self._board.changed:
                if self._gone_in_a_row == 1:
                    self._board.pacing.ring()
                else:  # gone right after a recovery: no use in hurrying
                    self._board.pacing.failed(gone, now=self._board.clock.monotonic())
        except PASSING as error:
            log.warning("claim-failed error=%s", error)
            with self._board.changed:
                self._board.pacing.failed(error, now=self._board.clock.monotonic())
        return None

    def _ask(self, limit: int) -> Script[Claim]:
        self._claim_id = self._claim_id or new_key()
        head, position = self._board.seen_head, self._position
        claim: Claim = yield inbox_calls.claim(
            self._core,
            limit=limit,
            lease_seconds=self._plan.lease_seconds,
            consumer=self._consumer,
            claim_id=self._claim_id,
            projects=self._plan.projects,
            after_cursor=position.cursor if position else None,
            epoch=position.epoch if position else None,
        )
        self._claim_id, self._gone_in_a_row = None, 0
        with self._board.changed:
            now = self._board.clock.monotonic()
            self._board.pacing.answered(claim, asked=limit, now=now)
        nothing = not claim.events and not claim.claimable and not claim.reason and not claim.spent
        if nothing and head is not None and head != position and self._plan.projects is None:
            # All up to this head was settled or is under somebody's lease: read, and safe.
            self._record.move(head)
            self._position = head
        return claim

    def _settle_leftovers(self) -> Script[None]:
        """What an earlier process of this name held when it was killed.

        It may have been begun, so the attempt counts: an event that kills its worker must end in
        quarantine, not come for ever. What the record knows as finished is acked.
        """
        held: Held = yield inbox_calls.claims(self._core, consumer=self._consumer)
        for event in held.events:
            known = self._record.find(event.event_id)
            try:
                if known is not None:
                    yield settle_calls.ack(
                        self._core, event.event_id, event.claim_generation, result=known.result
                    )
                else:
                    message = f"consumer {self._consumer} ended while it held the event"
                    yield settle_calls.release(
                        self._core,
                        event.event_id,
                        event.claim_generation,
                        error=failed("consumer_lost", message, FailureOutcome.UNKNOWN),
                    )
            except (StaleClaim, NotFound):
                continue
            log.info("leftover event_id=%s known=%s", event.event_id, known is not None)
        self._leftovers_settled = True

    def _recover(self, gone: CursorGone) -> Script[None]:
        """Contract 9: fetch the state once, go on from there, never repeat the old cursor."""
        state: State | None = None
        if gone.state_url is not None:
            try:
                state = yield inbox_calls.state(self._core, gone.state_url)
            except (NotFound, UnexpectedAnswer):
                log.info("no-state url=%s", gone.state_url)
        if self._plan.recovery is not None:
            self._plan.recovery(gone, state)
        if state is not None:
            position = Position(state.cursor, state.epoch)
        else:
            position = Position(gone.head, gone.epoch)
        self._record.reset(position)
        self._position, self._gone = position, None

    def _look_at_head(self) -> Script[None]:
        """Without a stream nobody says how far the inbox is; ask now and then."""
        now = self._board.clock.monotonic()
        with self._board.changed:
            streaming = self._board.pacing.stream_up
        if streaming or now - self._head_asked_at < HEAD_AGE_SECONDS:
            return
        self._head_asked_at = now
        stats: Stats = yield inbox_calls.stats(self._core)
        self._board.note_head(Position(stats.head, stats.epoch))
