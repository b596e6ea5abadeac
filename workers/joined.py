"""A response's head and body leave in one piece.

gunicorn sends them one after the other: two system calls here, and the client woken twice, which
was a tenth of a small call's time. gevent's `sendall` asks for the size of the socket's buffer each
time: what fits goes without that.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Any


class Joined:
    """A connection for the time of one request. What it is asked for besides comes after the head."""

    __slots__ = ("_connection", "_head", "_is_first", "lines")

    def __init__(self, connection: socket.socket, lines: Sequence[tuple[str, str]] = ()) -> None:
        # the fields of the request as they came: WSGI joins those that came twice
        self.lines = lines
        self._connection = connection
        self._head = b""
        self._is_first = True

    def sendall(self, data: bytes) -> None:
        """The first piece waits for the second."""
        if self._is_first:
            self._is_first, self._head = False, data
        else:
            self._send(data)

    def flush(self) -> None:
        """Send what waits."""
        if self._head:
            self._send(b"")

    def _send(self, data: bytes) -> None:
        if self._head:
            data, self._head = self._head + data, b""
        sent = self._connection.send(data)
        if sent < len(data):
            self._connection.sendall(data[sent:])

    def __getattr__(self, name: str) -> Any:
        self.flush()
        return getattr(self._connection, name)
