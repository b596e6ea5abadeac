"""The doorbell (contract 5.1): a stream of server-sent events that say that, never what.

While it is open a stream is a greenlet, a socket and a flag: the request's context, its transaction
and its response have ended with the first frame. (So no `stream_with_context`.)
"""

from __future__ import annotations

import random
import socket
import time
from contextlib import suppress
from datetime import UTC
from typing import Any, Generic, Self

from flask import Response, request
from orjson import dumps

from blueprints.access import own, states
from blueprints.agents.blueprint import agents
from blueprints.agents.tickets import admitted
from blueprints.bodies import read_content, read_query
from blueprints.fields import Query, QueryCursor
from blueprints.signatures import check_signature, is_signed
from extensions import house
from restante.errors import Overloaded, Unauthenticated
from restante.identity.principal import Principal
from restante.identity.scopes import Verb
from restante.identity.subscribe_tickets import spend_ticket
from restante.signals.opening import Opening, opening
from restante.signals.rings import Ring
from restante.signals.streams import End, Ending, Pass, Stream, Streams
from restante.storage.transaction import Session

MEDIA_TYPE = "text/event-stream"
HEADERS = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}
RING_GAP_SECONDS = 0.02
"""Rings of a stream are at least so far apart: what comes between them is one ring."""
RETRY_MS = (2_000, 10_000)

ACCESS = own(Verb.READ)
_HEARTBEAT = b"event: heartbeat\ndata: {}\n\n"
_REVOKED = b"event: revoked\ndata: {}\n\n"


class SubscribeQuery(Query):
    """How far the subscriber has read."""

    after_cursor: QueryCursor | None = None
    ticket: str | None = None


class Line:
    """The socket of a stream, as gunicorn gives it."""

    __slots__ = ("_socket",)

    def __init__(self, connection: Any) -> None:
        # gevent's own would wait where nothing can be read: look at the one underneath
        self._socket: socket.socket = getattr(connection, "_sock", connection)

    def is_gone(self) -> bool:
        """Whether the other side has closed it."""
        try:
            return not self._socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def hang_up(self) -> None:
        """Close it under whoever may be writing."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)


class Frames(Generic[Pass]):
    """What the server writes: each step waits for the next thing to say."""

    __slots__ = ("_first", "_rung_at", "_stream", "_streams")
    gap_seconds = RING_GAP_SECONDS

    def __init__(self, streams: Streams[Pass], stream: Stream[Pass], first: bytes) -> None:
        self._streams = streams
        self._stream: Stream[Pass] | None = stream
        self._first: bytes | None = first
        self._rung_at = 0.0

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> bytes:
        text = self.wait()
        if text is None:
            raise StopIteration
        return text

    def wait(self) -> bytes | None:
        """The next thing to say, once there is one; None at the end."""
        if self._first is not None:
            first, self._first = self._first, None
            return first
        while (stream := self._stream) is not None:
            if stream.ending is not None:
                self.close()
                return ending_frame(stream.ending)
            if text := self._due(stream):
                return text
            stream.sleep()
        return None

    def move_to(self, connection: Any) -> None:
        """The stream goes on over another socket object (workers/outlet.py)."""
        if self._stream is not None:
            self._stream.line = Line(connection)

    def rung(self, stream: Stream[Pass]) -> bytes:
        """What a ring says."""
        return ring_frame(stream.head)

    def _due(self, stream: Stream[Pass]) -> bytes:
        text = b""
        if stream.rung:
            gap = self._rung_at + self.gap_seconds - time.monotonic()
            if gap > 0:
                time.sleep(gap)
            self._rung_at = time.monotonic()
            stream.take()
            text = self.rung(stream)
        if stream.beating:
            stream.beating = False
            text += _HEARTBEAT
        return text

    def close(self) -> None:
        """The connection has ended, or is going to."""
        stream, self._stream = self._stream, None
        if stream is not None:
            self._streams.close(stream)

    # a server that fails between the application's answer and its first step does not close it
    __del__ = close


@states(ACCESS)
def subscribe(agent_id: str) -> Response:
    """Open the stream of an agent."""
    here = house()
    claims, principal, ticket = admitted(request, agent_id)
    if is_signed(request.environ):
        limit = here.settings.body_limit_bytes
        asked = request._get_current_object()  # type: ignore[attr-defined] # noqa: SLF001 - Flask's own way
        check_signature(asked, principal, lambda: read_content(asked, limit))
    ACCESS.admit(principal, {"agent_id": agent_id})
    query = read_query(request, SubscribeQuery)
    if request.method == "HEAD":
        return Response(content_type=MEDIA_TYPE, headers=HEADERS)
    projects = [project.id for project in principal.require_any(Verb.READ)]
    stream = here.streams.open(principal.id, projects, standing=claims)
    if stream is None and here.hub.draining:
        raise Overloaded("This server is going to stop: connect again.")
    if stream is None:
        raise Overloaded("This server has as many streams open as it may: try again, or poll.")
    try:
        # it hears already: what is committed during the look rings
        found = here.database.run(lambda session: _opening(session, principal, ticket))
        stream.head = max(stream.head, found.head)
        here.streams.bound(stream, claims.expires_at - found.now.replace(tzinfo=UTC).timestamp())
        if found.rings_for(query.after_cursor):
            stream.hear(Ring(principal.id, projects[0], found.head))
        if (connection := request.environ.get("gunicorn.socket")) is not None:
            stream.line = Line(connection)
    except BaseException:
        here.streams.close(stream)
        raise
    here.notes.note(principal.id)
    frames = Frames(here.streams, stream, ready_frame(found, here.settings.heartbeat_seconds))
    # passed on as it is: werkzeug would wrap it, and the wrapper would hold the request
    return Response(frames, content_type=MEDIA_TYPE, headers=HEADERS, direct_passthrough=True)


def _opening(session: Session, principal: Principal, ticket: str | None) -> Opening:
    """Where the inbox stands; a ticket is spent with it, and not by a call that comes to nothing."""
    found = opening(session, principal)
    if ticket is not None and not spend_ticket(session, ticket):
        raise Unauthenticated("ticket_spent", presented=True)
    return found


agents.add_url_rule("/subscribe", "subscribe", subscribe, methods=["GET"])


def ready_frame(found: Opening, heartbeat_seconds: float) -> bytes:
    """The first frame, with the pause after which this client, unlike others, connects again."""
    retry_ms = random.randint(*RETRY_MS)  # noqa: S311 - jitter
    seconds = int(heartbeat_seconds) if heartbeat_seconds.is_integer() else heartbeat_seconds
    data = dumps(
        {
            "epoch": found.epoch,
            "head": found.head,
            "claimable": found.claimable,
            "heartbeat_seconds": seconds,
        }
    )
    return b"retry: %d\nevent: ready\ndata: %b\n\n" % (retry_ms, data)


def ring_frame(head: int) -> bytes:
    """A ring."""
    return b'event: inbox_updated\ndata: {"cursor_hint":%d}\n\n' % head


def ending_frame(ending: Ending) -> bytes:
    """The last frame."""
    if ending.reason is End.REVOKED:
        return _REVOKED
    data = dumps({"reason": ending.reason.value, "retry_after_ms": ending.retry_after_ms})
    return b"event: reconnect\ndata: %b\n\n" % data
