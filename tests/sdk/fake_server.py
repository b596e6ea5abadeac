"""The fake inbox behind a transport for clients in this process, and behind a real socket."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Condition, Thread
from typing import Any

import httpx2

from tests.sdk.fake_answers import AGENT, Reply
from tests.sdk.fake_inbox import FakeInbox


class Broken(Exception):
    """Raised by a hook of the inbox: the connection breaks without an answer."""


def transport_for(inbox: FakeInbox) -> httpx2.MockTransport:
    """Answers in this process. A hook that raises `Broken` is a connection that breaks."""

    def handle(request: httpx2.Request) -> httpx2.Response:
        try:
            reply = inbox.handle(
                request.method,
                request.url.path,
                request.url.query.decode(),
                {k.lower(): v for k, v in request.headers.items()},
                request.content,
            )
        except Broken as error:
            raise httpx2.ReadError(str(error), request=request) from error
        status, headers, content = encoded(reply)
        return httpx2.Response(status, headers=headers, content=content)

    return httpx2.MockTransport(handle)


def encoded(reply: Reply) -> tuple[int, dict[str, str], bytes]:
    status, headers, body = reply
    content = (
        body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    )
    return (
        status,
        {"content-type": "application/json", "restante-version": "0.1.0", **headers},
        content,
    )


class FakeServer:
    """The inbox on a loopback port, with a doorbell that rings at every publish."""

    def __init__(self, inbox: FakeInbox, *, heartbeat_seconds: float = 30.0) -> None:
        self.inbox, self.heartbeat_seconds = inbox, heartbeat_seconds
        self.changed = Condition()
        self.frames = 0  # grows with every ring
        self.said: list[tuple[str, dict[str, Any]]] = []  # frames to send to every open stream
        self.streams_opened = 0
        self.streams_open = 0
        self.silent = False
        self.closing = False
        self.refuse_streams: Reply | None = None
        inbox.rung = self.ring
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"fake": self}))
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"

    def ring(self) -> None:
        with self.changed:
            self.frames += 1
            self.changed.notify_all()

    def say(self, event: str, **data: Any) -> None:
        """Send one frame to the streams that are open."""
        with self.changed:
            self.said.append((event, data))
            self.changed.notify_all()


@contextmanager
def served(inbox: FakeInbox, *, heartbeat_seconds: float = 30.0) -> Iterator[FakeServer]:
    server = FakeServer(inbox, heartbeat_seconds=heartbeat_seconds)
    thread = Thread(target=server.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        with server.changed:
            server.closing = True
            server.changed.notify_all()
        server.http.shutdown()
        server.http.server_close()
        thread.join()


class Handler(BaseHTTPRequestHandler):
    fake: FakeServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _answer(self) -> None:
        path, _, query = self.path.partition("?")
        content = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {k.lower(): v for k, v in self.headers.items()}
        if path == f"/api/v1/agents/{AGENT}/subscribe" and self.fake.refuse_streams is None:
            self._stream(headers)
            return
        try:
            reply = self.fake.inbox.handle(self.command, path, query, headers, content)
        except Broken:
            self.close_connection = True
            return
        if path.endswith("/subscribe") and self.fake.refuse_streams is not None:
            reply = self.fake.refuse_streams
        status, names, body = encoded(reply)
        self.send_response(status)
        for name, value in {**names, "content-length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, headers: dict[str, str]) -> None:
        self.close_connection = True
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        inbox = self.fake.inbox
        with self.fake.changed:
            self.fake.streams_opened += 1
            self.fake.streams_open += 1
            seen, said = self.fake.frames, len(self.fake.said)
        with inbox.lock:
            ready = {
                "epoch": inbox.epoch,
                "head": inbox.head,
                "claimable": len(inbox._claimable()),
                "heartbeat_seconds": self.fake.heartbeat_seconds,
            }
        try:
            self._frame("ready", ready)
            self._frames(seen, said)
        except OSError:
            pass
        finally:
            with self.fake.changed:
                self.fake.streams_open -= 1

    def _frames(self, seen: int, said: int) -> None:
        while True:
            with self.fake.changed:
                end = time.monotonic() + self.fake.heartbeat_seconds
                while not self.fake.closing and self.fake.frames == seen:
                    if len(self.fake.said) > said or not self._wait_until(end):
                        break
                if self.fake.closing:
                    return
                rung, seen = self.fake.frames != seen, self.fake.frames
                news, said = self.fake.said[said:], len(self.fake.said)
            if self.fake.silent:
                continue
            for event, data in news:
                self._frame(event, data)
                if event in ("reconnect", "revoked"):
                    return
                rung = True
            if rung and not news:
                self._frame("inbox_updated", {"cursor_hint": self.fake.inbox.head})
            elif not news:
                self._frame("heartbeat", {})

    def _wait_until(self, end: float) -> bool:
        return self.fake.changed.wait(max(0.0, end - time.monotonic()))

    def _frame(self, event: str, data: dict[str, Any]) -> None:
        self.wfile.write(f"event: {event}\ndata: {json.dumps(data)}\n\n".encode())
        self.wfile.flush()
