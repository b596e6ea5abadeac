"""What gunicorn refuses below the application, told as the application tells of errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from gunicorn.util import write_nonblock

_STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")


class Refusal:
    """A connection on which gunicorn says that it could not read a request; its page is left out.

    `answer`: the application's own for a status.
    """

    def __init__(self, connection: Any, answer: Callable[[int], bytes]) -> None:
        self._connection, self._answer = connection, answer

    def gettimeout(self) -> float:
        """Of a connection that is not waited for."""
        return 0.0

    def sendall(self, page: bytes) -> None:
        """Send the problem instead."""
        if said := _STATUS.match(page):
            write_nonblock(self._connection, self._answer(int(said[1])))
