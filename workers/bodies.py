"""The body of a request, which has to have come by a certain time.

gunicorn bounds the time for a request's head (its keepalive) and none for its body: a byte a minute
would hold a connection, of those that a worker has, for years.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import gevent

BODY_SECONDS = 60.0
"""For 8 MiB at 140 KB a second; a body that comes more slowly is refused."""


class BodyTooSlow(TimeoutError):
    """The body had not come by its time."""


class Dated:
    """A body of gunicorn's; what is read of it later than `seconds` from now raises BodyTooSlow."""

    __slots__ = ("_body", "_until")

    def __init__(self, body: Any, seconds: float = BODY_SECONDS) -> None:
        self._body = body
        self._until = time.monotonic() + seconds

    def read(self, size: int | None = None) -> bytes:
        """At most so many bytes; all that are left, where it is not said."""
        text: bytes = self._in_time(self._body.read, size)
        return text

    def readline(self, size: int | None = None) -> bytes:
        """Up to a line's end."""
        line: bytes = self._in_time(self._body.readline, size)
        return line

    def readlines(self, size: int | None = None) -> list[bytes]:
        """All lines that are left."""
        lines: list[bytes] = self._in_time(self._body.readlines, size)
        return lines

    def __iter__(self) -> Iterator[bytes]:
        while line := self.readline():
            yield line

    def __getattr__(self, name: str) -> Any:
        return getattr(self._body, name)

    def _in_time(self, read: Any, size: int | None) -> Any:
        left = max(self._until - time.monotonic(), 0.0)
        with gevent.Timeout(left, BodyTooSlow()):
            return read(size)
