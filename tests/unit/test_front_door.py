"""Each thing that `doctor --url` finds of a proxy, one proxy a finding; a good one is in tests/acceptance."""

from __future__ import annotations

import json
import posixpath
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

import pytest

import front_door
from front_door import look_from_outside
from restante.storage.finding import Finding, Level

AGENT = {"RESTANTE_CLIENT_ID": "agt_1", "RESTANTE_CLIENT_SECRET": "secret"}
PROXIED = {**AGENT, "RESTANTE_TRUSTED_PROXIES": "1"}
GOOD = ("/problems", "/problems/not-found", "/metrics", "/health/ready")
BEAT = b"event: heartbeat\ndata: {}\n\n"


@dataclass
class Behaviour:
    """What a proxy does to requests and answers, and Restante behind it."""

    issuer: str = ""
    path: Callable[[str], str] = str
    drops_authorization: bool = False
    drops_host: bool = False
    methods: tuple[str, ...] = ("GET", "POST", "PUT")
    largest_token: int = 16_000
    largest_body: int = 8 * 1024 * 1024
    inside: tuple[str, ...] = ("/metrics", "/health/ready")
    strips: bool = False
    stream: tuple[bytes, ...] = (b"event: ready\ndata: {}\n\n", BEAT)
    stream_fields: dict[str, str] = field(default_factory=dict)
    holds: threading.Event | None = None


class Handler(BaseHTTPRequestHandler):
    is_: Behaviour

    def tell(self, status: int, body: bytes = b"", *, ours: bool = True, **fields: str) -> None:
        self.send_response(status)
        if ours and not self.is_.strips:
            self.send_header("Restante-Version", "1")
        for name, text in fields.items():
            self.send_header(name.replace("_", "-"), text)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def answer(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        self.rfile.read(length)
        token = self.headers.get("Authorization", "")
        # the library has merged its slashes already
        path = self.is_.path(self.requestline.split()[1])
        if self.command not in self.is_.methods:
            self.tell(405, ours=False)
        elif length > self.is_.largest_body:
            self.tell(413, ours=False)
        elif len(token) > self.is_.largest_token:
            self.tell(400, ours=False)
        elif path in self.is_.inside:
            self.tell(404, ours=False)
        else:
            self.served(path, "" if self.is_.drops_authorization else token)

    do_GET = do_POST = do_PUT = answer  # noqa: N815 - the library's names

    def served(self, path: str, token: str) -> None:
        """As Restante does."""
        if path.endswith("/subscribe"):
            self.streamed()
        elif path == "/oauth/token":
            self.tell(200, b'{"access_token": "t"}')
        elif path.startswith("/.well-known/"):
            self.tell(200, json.dumps({"issuer": self.is_.issuer}).encode())
        elif path == "/sign-in":
            self.tell(421 if self.is_.drops_host else 200)
        elif path.startswith("/api/"):
            self.tell(401, WWW_Authenticate='Bearer error="invalid_token"' if token else "Bearer")
        else:
            self.tell(200 if path in GOOD else 404)

    def streamed(self) -> None:
        if self.is_.holds is not None:
            self.is_.holds.wait(20)
        self.send_response(200)
        for name, text in self.is_.stream_fields.items():
            self.send_header(name, text)
        self.end_headers()
        for part in self.is_.stream:
            self.wfile.write(part)
            self.wfile.flush()

    def log_message(self, *args: object) -> None:
        pass


@contextmanager
def behind(behaviour: Behaviour) -> Iterator[str]:
    handler = type("Here", (Handler,), {"is_": behaviour})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    behaviour.issuer = behaviour.issuer or url
    try:
        yield url
    finally:
        server.shutdown()
        server.server_close()


def look(behaviour: Behaviour, *, environ: dict[str, str] | None = None) -> list[Finding]:
    with behind(behaviour) as url:
        return list(look_from_outside(url, environ or PROXIED, patient=True))


def test_a_good_proxy_has_nothing_to_mend() -> None:
    assert look(Behaviour()) == []


def merged(path: str) -> str:
    return re.sub("//+", "/", path)


def resolved(path: str) -> str:
    return path if "%" in path or "?" in path else posixpath.normpath(path)


def decoded(path: str) -> str:
    return posixpath.normpath(unquote(path)) if "%2e" in path else path


@pytest.mark.parametrize(
    ("behaviour", "subject", "remedy"),
    [
        (Behaviour(strips=True), "url", "drops the Restante-Version field"),
        (Behaviour(issuer="https://other.example.com"), "public_url", "have to use that one"),
        (Behaviour(drops_host=True), "host", "$http_host"),
        (Behaviour(drops_authorization=True), "authorization", "pass it on unchanged"),
        (Behaviour(largest_token=4_000), "header_size", "large_client_header_buffers"),
        (Behaviour(methods=("GET", "POST")), "methods", "pass every method on"),
        (Behaviour(path=merged), "paths", "neither merge slashes"),
        (Behaviour(path=resolved), "paths", "nor resolve dots"),
        (Behaviour(path=decoded), "paths", "nor decode"),
        (Behaviour(largest_body=1024 * 1024), "body_size", "client_max_body_size"),
        (Behaviour(inside=("/health/ready",)), "inside", "404"),
        (Behaviour(inside=("/metrics",)), "inside", "404"),
        (Behaviour(stream_fields={"Content-Encoding": "gzip"}), "streams", "gzip off"),
        (Behaviour(stream=(b"event: ready\n\n",)), "silence", "proxy_read_timeout"),
    ],
)
def test_a_proxy_that_does_something_wrong(behaviour: Behaviour, subject: str, remedy: str) -> None:
    (finding,) = look(behaviour)
    assert finding.subject == subject
    assert remedy in finding.sentence


def test_a_proxy_that_keeps_a_stream_to_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(front_door, "FIRST_FRAME_SECONDS", 0.2)
    holds = threading.Event()
    try:
        (finding,) = look(Behaviour(holds=holds))
    finally:
        holds.set()
    assert finding.subject == "streams"
    assert "proxy_buffering off" in finding.sentence


def test_without_an_agent_streams_are_not_tried_and_that_is_said() -> None:
    (finding,) = look(Behaviour(), environ={"RESTANTE_TRUSTED_PROXIES": "1"})
    assert (finding.level, finding.subject) == (Level.NOTE, "streams")


def test_a_secret_that_gets_no_token_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Handler, "do_POST", lambda self: self.tell(401))
    found = [finding.subject for finding in look(Behaviour())]
    assert found == ["streams"]


def test_who_looks_at_loopback_without_a_proxy_is_inside() -> None:
    shown = Behaviour(inside=())
    assert look(shown, environ=AGENT) == []


def test_nobody_there() -> None:
    with behind(Behaviour()) as url:
        pass
    (finding,) = look_from_outside(url, {})
    assert (finding.level, finding.subject) == (Level.REFUSED, "url")
