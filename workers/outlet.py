"""Streams leave gunicorn's request loop, so that a waiting one holds nothing of its request.

What a request leaves behind in its greenlet (environment, parser, the reach of its deepest call)
is more than a stream needs. So once the first frame is out, a new greenlet with a shallow stack
writes the rest to a duplicate of the socket, and gunicorn closes its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Protocol

import gevent
from gevent import socket


class Outflow(Protocol):
    """A response that wants to go on by itself: its parts, one after another."""

    def wait(self) -> bytes | None:
        """The next part, once there is one; None at the end."""

    def move_to(self, connection: Any) -> None:
        """It goes on over this socket."""

    def close(self) -> None:
        """It has ended."""


def releasing(application: Callable[..., Any]) -> Callable[..., Any]:
    """The WSGI application, whose streams leave the request they began in (gunicorn only)."""

    def call(environ: dict[str, Any], start_response: Any) -> Any:
        answer = application(environ, start_response)
        if not hasattr(answer, "move_to"):
            return answer
        _release(answer, environ["gunicorn.socket"], start_response.__self__)
        raise StopIteration  # gunicorn's word for: close the connection and say no more

    return call


def _release(answer: Outflow, connection: Any, response: Any) -> None:
    try:
        response.force_close()  # the connection carries no other request
        first = answer.wait()
        response.write(first or b"")
        duplicate = socket.socket(fileno=os.dup(connection.fileno()))
    except BaseException:
        answer.close()
        raise
    answer.move_to(duplicate)
    gevent.spawn(_write_all, answer, duplicate, chunked=response.is_chunked())


def _write_all(answer: Outflow, connection: Any, *, chunked: bool) -> None:
    try:
        while (text := answer.wait()) is not None:
            connection.sendall(b"%x\r\n%b\r\n" % (len(text), text) if chunked else text)
        if chunked:
            connection.sendall(b"0\r\n\r\n")
    except OSError:
        pass  # the other side has left
    finally:
        answer.close()
        connection.close()
