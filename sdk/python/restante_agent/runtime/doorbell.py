"""The thread that keeps the doorbell open."""

from __future__ import annotations

import logging

from restante_agent.client import Client
from restante_agent.doorbell_stream import DoorbellStream
from restante_agent.errors import (
    InsufficientScope,
    InvalidClient,
    InvalidScope,
    NotFound,
    RestanteError,
    Unauthenticated,
)
from restante_agent.model.frame import Frame, Heartbeat, Ready, Reconnect, Revoked, Ring
from restante_agent.runtime.board import Board
from restante_agent.runtime.reconnect import Reconnecting
from restante_agent.runtime.record import Position
from restante_agent.wire.retry import NO_RETRY

log = logging.getLogger("restante_agent")

# Answers that trying again does not change.
REFUSED = (Unauthenticated, InvalidClient, InvalidScope, NotFound)


class Doorbell:
    """Opens the stream again and again, and tells the board what it hears."""

    def __init__(self, client: Client, board: Board) -> None:
        self._client = client.with_options(retry=NO_RETRY)
        self._board = board
        self._policy = Reconnecting(random=board.random)
        self._stream: DoorbellStream | None = None
        self._epoch = ""

    def run(self) -> None:
        """Until the board is closed, or until the server says that this is not allowed."""
        while not self._board.closed:
            try:
                wait = self._listen()
            except REFUSED as error:
                self._board.fail(error)
                return
            except InsufficientScope as error:
                log.warning("poll-only reason=insufficient-scope scope=%s", error.required_scope)
                return
            except RestanteError as error:
                log.info("stream-lost error=%s", error)
                wait = self._policy.after_loss(error=error, retry_ms=None)
            self._lost()
            self._rest(wait)

    def abort(self) -> None:
        """End the open stream from another thread."""
        stream = self._stream
        if stream is not None:
            stream.abort()

    def _listen(self) -> float:
        """One stream to its end; the seconds to wait before the next."""
        silence = self._policy.silence_seconds
        with self._client.subscribe(silence_seconds=silence) as stream:
            self._stream = stream
            try:
                for frame in stream:
                    wait = self._heard(frame)
                    if wait is not None or self._board.closed:
                        return wait or 0.0
            finally:
                self._stream = None
            return self._policy.after_loss(error=None, retry_ms=stream.retry_ms)

    def _heard(self, frame: Frame) -> float | None:
        """Take in one frame; seconds to wait if it ends the stream."""
        board = self._board
        match frame:
            case Ready():
                self._policy.ready(frame)
                self._epoch = frame.epoch
                self._note(frame.head)
                log.info("stream-ready head=%d claimable=%d", frame.head, frame.claimable)
            case Ring():
                self._policy.proven()
                self._note(frame.cursor_hint)
            case Heartbeat():
                self._policy.proven()
            case Reconnect():
                log.info(
                    "stream-reconnect reason=%s wait_ms=%d", frame.reason, frame.retry_after_ms
                )
                return self._policy.after_goodbye(frame)
            case Revoked():
                # Perhaps only this token: the next connection shows, with a new one.
                log.warning("stream-revoked")
                self._client.forget_tokens()
                return self._policy.after_loss(error=None, retry_ms=None)
        with board.changed:
            board.stream_deadline = board.clock.monotonic() + self._policy.silence_seconds
            if isinstance(frame, Ready):
                board.pacing.stream_opened()
            if isinstance(frame, Ring) or (isinstance(frame, Ready) and frame.claimable):
                board.pacing.ring()
            board.changed.notify_all()
        return None

    def _note(self, head: int) -> None:
        if self._epoch:
            self._board.note_head(Position(head, self._epoch))

    def _lost(self) -> None:
        board = self._board
        with board.changed:
            board.stream_deadline = None
            board.pacing.stream_lost(board.clock.monotonic())
            board.changed.notify_all()

    def _rest(self, seconds: float) -> None:
        board = self._board
        with board.changed:
            until = board.clock.monotonic() + seconds
            while not board.closed and (left := until - board.clock.monotonic()) > 0:
                board.clock.wait(board.changed, left)
