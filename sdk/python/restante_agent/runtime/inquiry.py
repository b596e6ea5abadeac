"""The part of a run that claims: leftovers first, then what is there, and 410 on the way."""

from __future__ import annotations

import logging

from restante_agent.errors import (
    ACCESS,
    PASSING,
    CursorGone,
    InsufficientScope,
    NotFound,
    RestanteError,
    UnexpectedAnswer,
)
from restante_agent.model.inbox import Claim, State, Stats
from restante_agent.runtime.access import Access
from restante_agent.runtime.board import Board
from restante_agent.runtime.leftovers import settle_leftovers
from restante_agent.runtime.plan import Plan
from restante_agent.runtime.record import Position, Record
from restante_agent.runtime.script import Script
from restante_agent.runtime.state_sync import converged_state
from restante_agent.wire import inbox_calls
from restante_agent.wire.call import new_key
from restante_agent.wire.core import Core

log = logging.getLogger("restante_agent")

HEAD_AGE_SECONDS = 600.0
SHUT_SECONDS = 60.0
"""After which a project that was refused is asked for again."""


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
        self._access = Access("claiming")
        self._shut: dict[str, float] = {}

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
                yield from settle_leftovers(self._core, self._record, self._consumer)
                self._leftovers_settled = True
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
            if self._gone_in_a_row == 1:
                with self._board.changed:
                    self._board.pacing.ring()
            else:  # gone right after a recovery: no use in hurrying
                self._passing(gone)
        except PASSING as error:
            log.warning("claim-failed error=%s", error)
            self._passing(error)
        except ACCESS as error:
            self._refused(error)
        return None

    def _passing(self, error: RestanteError) -> None:
        """Ask again later; raise it where the run is not to wait so long, once nothing is held any more."""
        board, patience = self._board, self._plan.give_up_seconds
        with board.changed:
            board.pacing.failed(error, now=board.clock.monotonic())
            held = len(board.leases)
            gives_up = patience is not None and board.pacing.gives_up(patience)
        if gives_up and not held:
            log.error("give-up seconds=%g", patience)
            raise error

    def _refused(self, error: RestanteError) -> None:
        """Wait it out, and go on at once with the projects that are left where one alone is shut."""
        if not self._board.waits_out(error):
            raise error
        self._access.refused(error)
        project = _project_of(error)
        now = self._board.clock.monotonic()
        with self._board.changed:
            if project in self._projects(now) and len(self._projects(now)) > 1:
                self._shut[project] = now + SHUT_SECONDS * self._board.random.uniform(0.8, 1.2)
                self._board.pacing.ring()
            else:
                self._board.pacing.failed(error, now=now)

    def _projects(self, now: float) -> tuple[str, ...]:
        """Those that the run names and that were not refused in the last minute."""
        named = self._plan.projects or ()
        self._shut = {project: until for project, until in self._shut.items() if until > now}
        return tuple(project for project in named if project not in self._shut)

    def _ask(self, limit: int) -> Script[Claim]:
        self._claim_id = self._claim_id or new_key()
        head, position = self._board.seen_head, self._position
        claim: Claim = yield inbox_calls.claim(
            self._core,
            limit=limit,
            lease_seconds=self._plan.lease_seconds,
            consumer=self._consumer,
            claim_id=self._claim_id,
            projects=self._projects(self._board.clock.monotonic()) or self._plan.projects,
            after_cursor=position.cursor if position else None,
            epoch=position.epoch if position else None,
        )
        self._claim_id, self._gone_in_a_row = None, 0
        if not self._shut:
            self._access.granted()
        with self._board.changed:
            self._board.known = self._board.admitted = True
            now = self._board.clock.monotonic()
            self._board.pacing.answered(claim, asked=limit, now=now)
        nothing = not claim.events and not claim.claimable and not claim.reason and not claim.spent
        if nothing and head is not None and head != position and self._plan.projects is None:
            # All up to this head was settled or is under somebody's lease: read, and safe.
            self._record.move(head)
            self._position = head
        return claim

    def _recover(self, gone: CursorGone) -> Script[None]:
        """Contract 9: fetch the state once, go on from there, never repeat the old cursor."""
        state: State | None = None
        if gone.state_url is not None:
            try:
                state = yield from converged_state(self._core, gone.state_url)
            except (NotFound, InsufficientScope, UnexpectedAnswer):
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
        try:
            stats: Stats = yield inbox_calls.stats(self._core)
        except InsufficientScope:  # it may claim and not read
            return
        self._board.note_head(Position(stats.head, stats.epoch))


def _project_of(error: RestanteError) -> str:
    """The project whose scope a 403 asks for; of anything else none."""
    scope = error.required_scope if isinstance(error, InsufficientScope) else None
    parts = (scope or "").split(":")
    return parts[1] if len(parts) == 3 else ""
