"""The thread that renews leases and watches the stream's silence."""

from __future__ import annotations

import math
from collections.abc import Callable

from restante_agent.client import Client
from restante_agent.runtime.board import Board
from restante_agent.runtime.renewal import Renewal
from restante_agent.runtime.script import play
from restante_agent.wire.retry import NO_RETRY


class Keeper:
    """`on_silence` is called when the stream said nothing for 2.5 heartbeats."""

    def __init__(
        self, client: Client, board: Board, renewal: Renewal, *, on_silence: Callable[[], None]
    ) -> None:
        self._client = client.with_options(retry=NO_RETRY, read_seconds=renewal.read_seconds)
        self._board, self._renewal, self._on_silence = board, renewal, on_silence

    def run(self) -> None:
        while self._wait():
            self.run_once()

    def run_once(self) -> int:
        """Renew what is due; how many renewals were sent."""
        if self._renewal.stream_is_silent():
            self._on_silence()
        due = self._renewal.due()
        play(self._client, self._renewal.renew_all(due))
        self._renewal.give_up_what_is_over()
        return len(due)

    def _wait(self) -> bool:
        """Until something is due; False once the board is closed."""
        board = self._board
        with board.changed:
            while not board.closed:
                left = self._renewal.next_at() - board.clock.monotonic()
                if left <= 0:
                    return True
                board.wait(None if math.isinf(left) else left)
            return False
