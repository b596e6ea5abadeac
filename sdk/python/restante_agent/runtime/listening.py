"""What the doorbell's frames and failures mean for a run. Shared by both runners."""

from __future__ import annotations

import logging
from collections.abc import Callable

from restante_agent.errors import ACCESS, InsufficientScope, NotFound, RestanteError
from restante_agent.model.frame import Frame, Heartbeat, Ready, Reconnect, Revoked, Ring
from restante_agent.runtime.access import Access
from restante_agent.runtime.board import Board
from restante_agent.runtime.reconnect import Reconnecting
from restante_agent.runtime.record import Position

log = logging.getLogger("restante_agent")


class Listening:
    """Told of every frame and every end of a stream; says how long to wait before the next."""

    def __init__(self, board: Board, *, forget_tokens: Callable[[], None]) -> None:
        self._board, self._forget_tokens = board, forget_tokens
        self._policy = Reconnecting(random=board.random)
        self._access = Access("listening for rings (polling goes on)")
        self._epoch = ""

    @property
    def silence_seconds(self) -> float:
        return self._policy.silence_seconds

    def heard(self, frame: Frame) -> float | None:
        """Take in one frame; seconds to wait if it ends the stream."""
        match frame:
            case Ready():
                self._policy.ready(frame)
                self._access.granted()
                self._epoch = frame.epoch
                self._note(frame.head)
                log.info("stream-ready head=%d claimable=%d", frame.head, frame.claimable)
            case Ring():
                self._policy.proven()
                self._note(frame.cursor_hint)
            case Heartbeat():
                self._policy.proven()
            case Reconnect():
                wait = self._policy.after_goodbye(frame)
                log.info("stream-reconnect reason=%s seconds=%.1f", frame.reason, wait)
                return wait
            case Revoked():
                # Perhaps only this token: the next connection shows, with a new one.
                log.warning("stream-revoked")
                self._forget_tokens()
                return self._policy.after_loss(error=None, retry_ms=None)
        self._tell(frame)
        return None

    def ended(self, retry_ms: int | None) -> float:
        """The stream ended without a word; seconds to wait."""
        return self._policy.after_loss(error=None, retry_ms=retry_ms)

    def failed(self, error: RestanteError) -> float | None:
        """The stream broke or could not be opened; seconds to wait, None: open it no more."""
        if self._board.closed:
            return None
        # an agent may be granted claim alone, so without read it polls, whenever that shows
        if isinstance(error, InsufficientScope) or self._board.waits_out(error):
            self._access.refused(error)
            return self._policy.after_refusal()
        if isinstance(error, (*ACCESS, NotFound)):
            self._board.fail(error)
            return None
        log.info("stream-lost error=%s", error)
        return self._policy.after_loss(error=error, retry_ms=None)

    def lost(self) -> None:
        """No stream is open from now on."""
        board = self._board
        with board.changed:
            board.stream_deadline = None
            board.pacing.stream_lost(board.clock.monotonic())
            board.changed.notify_all()

    def _tell(self, frame: Frame) -> None:
        board = self._board
        with board.changed:
            board.stream_deadline = board.clock.monotonic() + self._policy.silence_seconds
            if isinstance(frame, Ready):
                board.known = True
                board.pacing.stream_opened()
            if isinstance(frame, Ring) or (isinstance(frame, Ready) and frame.claimable):
                board.pacing.ring()
            board.changed.notify_all()

    def _note(self, head: int) -> None:
        if self._epoch:
            self._board.note_head(Position(head, self._epoch))
