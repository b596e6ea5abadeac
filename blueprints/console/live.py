"""The stream of an operator's browser: that something of these topics has changed, never what.

One a browser (static/live.js); pages then ask for their parts anew, as whoever they are signed in as.
"""

from __future__ import annotations

import random

from flask import Blueprint, Response, request
from orjson import dumps

from blueprints.agents.stream import HEADERS, MEDIA_TYPE, RETRY_MS, Frames, Line, ending_frame
from blueprints.console import pages
from blueprints.console.sessions import with_session
from extensions import house
from restante.errors import Overloaded
from restante.identity.sessions import SignedIn
from restante.identity.watchers import Watcher
from restante.signals.changes import ALL, PLATFORM, Watch
from restante.signals.streams import STAY_AWAY, End, Ending, Stream
from restante.storage.transaction import Session

blueprint = Blueprint("console_live", __name__)


class Changed(Frames[Watcher]):
    """Topics, at most once a second."""

    __slots__ = ()
    gap_seconds = 1.0

    def rung(self, stream: Stream[Watcher]) -> bytes:
        """What has changed since it was last said."""
        topics = stream.take_topics() if isinstance(stream, Watch) else []
        return b'event: changed\ndata: {"topics":%b}\n\n' % dumps(topics)

    def wait(self) -> bytes | None:
        """The next frame. A server that is going to stop says so at once: operators are few."""
        stream = self._stream
        if stream is not None and self._streams.hub.draining:
            self._first = None
            self.close()
            low, high = STAY_AWAY[End.SHUTDOWN]
            retry_ms = random.randint(round(low * 1000), round(high * 1000))  # noqa: S311 - jitter
            return ending_frame(Ending(End.SHUTDOWN, retry_ms))
        return super().wait()


@blueprint.get("/live")
@with_session(polled=True)
def live(session: Session, who: SignedIn) -> Response:
    """Open it; it ends with the session it was opened in, or when its operator gets another role."""
    if request.method == "HEAD":
        return pages.protect(Response(content_type=MEDIA_TYPE, headers=_headers()))
    here = house()
    place = who.operator.tenant_id or PLATFORM
    stream = here.watches.open(place, ALL, standing=Watcher.of(who))
    if stream is None:
        raise Overloaded("This server has as many streams open as it may: the page asks by itself.")
    if (connection := request.environ.get("gunicorn.socket")) is not None:
        stream.line = Line(connection)
    first = b"retry: %d\nevent: ready\ndata: %b\n\n" % (
        random.randint(*RETRY_MS),  # noqa: S311 - jitter
        dumps({"heartbeat_seconds": here.settings.heartbeat_seconds}),
    )
    frames = Changed(here.watches, stream, first)
    answer = Response(frames, content_type=MEDIA_TYPE, headers=_headers(), direct_passthrough=True)
    return pages.protect(answer)


def _headers() -> dict[str, str]:
    return {**pages.HEADERS, **HEADERS, "Cache-Control": "no-store, no-transform"}
