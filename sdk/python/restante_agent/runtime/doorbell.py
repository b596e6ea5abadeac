"""The thread that keeps the doorbell open."""

from __future__ import annotations

from restante_agent.client import Client
from restante_agent.doorbell_stream import DoorbellStream
from restante_agent.errors import RestanteError
from restante_agent.runtime.board import Board
from restante_agent.runtime.listening import Listening
from restante_agent.wire.retry import NO_RETRY


class Doorbell:
    """Opens the stream again and again, and tells the board what it hears."""

    def __init__(self, client: Client, board: Board) -> None:
        self._client = client.with_options(retry=NO_RETRY)
        self._board = board
        self._listening = Listening(board, forget_tokens=client.forget_tokens)
        self._stream: DoorbellStream | None = None

    def run(self) -> None:
        """Until the board is closed, or until the server says that this is not allowed."""
        wait: float | None = 0.0
        while not self._board.closed and wait is not None:
            try:
                wait = self._listen()
            except RestanteError as error:
                wait = self._listening.failed(error)
            self._listening.lost()
            if wait is not None:
                self._rest(wait)

    def abort(self) -> None:
        """End the open stream from another thread."""
        stream = self._stream
        if stream is not None:
            stream.abort()

    def _listen(self) -> float:
        """One stream to its end; the seconds to wait before the next."""
        with self._client.subscribe(silence_seconds=self._listening.silence_seconds) as stream:
            self._stream = stream
            try:
                for frame in stream:
                    wait = self._listening.heard(frame)
                    if wait is not None or self._board.closed:
                        return wait or 0.0
            finally:
                self._stream = None
            return self._listening.ended(stream.retry_ms)

    def _rest(self, seconds: float) -> None:
        clock = self._board.clock
        until = clock.monotonic() + seconds
        with self._board.changed:
            while not self._board.closed and (left := until - clock.monotonic()) > 0:
                self._board.wait(left)
