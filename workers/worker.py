"""gunicorn's gevent worker, taught to keep streams and to leave in order."""

from __future__ import annotations

import gc
import random
import socket
import time
from contextlib import suppress
from typing import Any

import gevent
from gunicorn.http.errors import InvalidHeader
from gunicorn.workers.ggevent import GeventWorker

from restante.signals.streams import End
from workers.bodies import Dated
from workers.joined import Joined
from workers.outlet import releasing
from workers.refusals import Refusal
from workers.runtime import Runtime

COLLECT_AFTER = 20_000
"""So many containers more than there were before, and the collector looks at the youngest."""
DRAIN_SECONDS = 10.0
SLICE_SECONDS = 0.25
LAST_FRAMES_SECONDS = 2.0
NOTICE_SECONDS = 1.0
"""How long a worker without streams goes on accepting, so that who looks at /health/ready sees it."""

KEEPALIVE = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 60),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 15),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 4),
    # a peer that takes nothing for a minute is gone, also while we wait for nothing from it
    (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 60_000),
)


class Worker(GeventWorker):
    """One web process. On SIGTERM: held calls answer, streams leave in slices, then calls end."""

    runtime: Runtime
    wsgi: Any  # the application; gunicorn says no type
    _leaving = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._idle: set[socket.socket] = set()

    def load_wsgi(self) -> None:
        super().load_wsgi()
        self.wsgi = releasing(self.wsgi)
        # here a failure ends the server; later gunicorn would start one worker after another
        self.runtime = self.app.make_runtime()
        self.runtime.start()

    def run(self) -> None:
        # what is there now stays: the collector need not walk it again and again (an eighth of a
        # publish of a hundred), and a call's own objects are fewer than one of its passes
        gc.collect()
        gc.freeze()
        gc.set_threshold(COLLECT_AFTER, 10, 10)
        try:
            super().run()
        finally:
            self.runtime.stop()

    def handle(self, listener: Any, client: socket.socket, addr: Any) -> None:
        if client.family != socket.AF_UNIX:
            for option in KEEPALIVE:
                client.setsockopt(*option)
        self._idle.add(client)
        try:
            super().handle(listener, client, addr)
        finally:
            self._idle.discard(client)

    def handle_request(self, listener_name: Any, req: Any, sock: socket.socket, addr: Any) -> None:
        self._idle.discard(sock)
        # gunicorn takes such a request (RFC 9112, section 3.2)
        if req.version == (1, 1) and all(name != "HOST" for name, _ in req.headers):
            raise InvalidHeader("HOST", req=req)
        req.body = Dated(req.body)
        joined = Joined(sock, req.headers)
        try:
            super().handle_request(listener_name, req, joined, addr)
        finally:
            joined.flush()
        self._idle.add(sock)

    def handle_error(self, req: Any, client: socket.socket, addr: Any, exc: BaseException) -> None:
        super().handle_error(req, Refusal(client, self.app.unread), addr, exc)

    def handle_exit(self, sig: int, frame: Any) -> None:
        # as gunicorn does for SIGQUIT: what waits must not run inside a signal handler
        if not self._leaving:
            self._leaving = True
            gevent.spawn(self._leave)

    def _leave(self) -> None:
        streams, hub = self.runtime.streams, self.runtime.hub
        hub.drain()
        began = time.monotonic()
        left = streams.all()
        random.shuffle(left)
        slices = round(DRAIN_SECONDS / SLICE_SECONDS)
        size = -(-len(left) // slices)
        while left:
            for stream in left[:size]:
                stream.end(End.SHUTDOWN)
            left = [stream for stream in left[size:] if stream.ending is None]
            if left:
                gevent.sleep(SLICE_SECONDS * random.uniform(0.5, 1.0))  # noqa: S311 - jitter
        until = max(time.monotonic() + LAST_FRAMES_SECONDS, began + NOTICE_SECONDS)
        while time.monotonic() < until and (streams or time.monotonic() < began + NOTICE_SECONDS):
            gevent.sleep(0.05)
        for stream in streams.all():
            if stream.line is not None:
                stream.line.hang_up()
        self.alive = False
        # a connection that waits for its next request would hold us up for as long as it may wait
        for client in list(self._idle):
            with suppress(OSError):
                # gevent's own would raise in the greenlet that reads: let it read the end
                getattr(client, "_sock", client).shutdown(socket.SHUT_RD)
