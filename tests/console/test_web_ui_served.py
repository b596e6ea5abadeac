"""Pages as the production server sends them: what the test client cannot send, and what it would not show."""

from __future__ import annotations

import contextlib
import http.client
import re
import socket
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest

from tests.support.databases import create_empty
from tests.support.serving import RestanteCommand, Served


@pytest.fixture
def served(serve: Callable[..., Served], worker_folder: Path, worker_name: str) -> Served:
    url = create_empty("sqlite", f"console_{worker_name}", worker_folder)
    command = RestanteCommand(url)
    command.upgrade()
    command.create_tenant("acme")
    # what is set by mistake in production
    return serve(url, settings={"FLASK_DEBUG": "1"})


CLOSED = 0
"""The server hung up on a request that it had not read to its end."""


def raw(served: Served, request: bytes) -> tuple[int, bytes]:
    """(status, answer) to these very bytes."""
    parts = urlsplit(served.url)
    with socket.create_connection((str(parts.hostname), parts.port or 0), timeout=30) as wire:
        answer = b""
        with contextlib.suppress(ConnectionError):
            wire.sendall(request)
            while part := wire.recv(65536):
                answer += part
    return int(answer.split(b" ", 2)[1]) if answer else CLOSED, answer


def ask(
    served: Served, method: str, path: str, body: str | None = None, cookie: str = ""
) -> tuple[http.client.HTTPResponse, str]:
    connection = http.client.HTTPConnection(urlsplit(served.url).netloc, timeout=30)
    headers = {"Cookie": cookie, "Accept": "text/html"}
    if body is not None:
        headers["Content-Type"] = "application/x-www-form-urlencoded"
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    return answer, answer.read().decode()


def test_an_operator_signs_in_and_lets_a_device_in_at_a_real_server(served: Served) -> None:
    command = served.command
    command.create_project("acme", "main")
    agent = command.create_agent("acme", "dock", grants=("agent:main:read",))
    link = command.json(
        "operator", "invite", "--tenant", "acme", "--email", "o@example.com", "--role", "operator"
    )["url"]
    started, _ = ask(
        served, "POST", "/oauth/device_authorization", urlencode({"client_id": agent["client_id"]})
    )
    assert started.status == 200
    path = urlsplit(link).path
    _, page = ask(served, "GET", "/device")
    first, page = ask(served, "GET", path)
    visitor = str(first.getheader("Set-Cookie")).partition(";")[0]

    def token(text: str) -> str:
        found = re.search(r'name="csrf" value="([0-9a-f]+)"', text)
        assert found
        return found[1]

    begun, _ = ask(served, "POST", path, urlencode({"csrf": token(page)}), visitor)
    assert (begun.status, begun.getheader("Location")) == (303, "/overview")
    session = next(
        header.partition(";")[0]
        for header in begun.headers.get_all("Set-Cookie", [])
        if header.startswith("restante-session=")
    )
    device, _ = ask(served, "GET", "/device", cookie=session)
    assert device.status == 200
    assert "gunicorn/" not in str(device.getheader("Server"))
    assert device.getheader("Cache-Control") == "no-store"
    status, answer = raw(
        served,
        f"GET //device HTTP/1.1\r\nHost: {urlsplit(served.url).netloc}\r\nCookie: {session}\r\n"
        "Connection: close\r\n\r\n".encode(),
    )
    assert (status, b"There is nothing here" in answer) == (404, True)


BROKEN = [
    (b"GET /device HTTP/1.1", b"X-Large: " + b"a" * 100_000 + b"\r\n", {400, 431, CLOSED}),
    (b"GET /" + b"a" * 100_000 + b" HTTP/1.1", b"", {400, 414, CLOSED}),
    (b"GET /device\x00 HTTP/1.1", b"", {400, 404}),
    (b"GET /%zz%00 HTTP/1.1", b"", {400, 404}),
    (b"GET /t/acme/../device HTTP/1.1", b"", {404}),
    (b"GET /static/../app.py HTTP/1.1", b"", {404}),
    (b"GET /static/%2e%2e/app.py HTTP/1.1", b"", {404}),
    (b"POST /sign-out HTTP/1.1", b"Content-Length: 1000000000\r\n", {403, 413}),
    (b"POST /sign-out HTTP/1.1", b"Content-Length: 1\r\nContent-Length: 2\r\n", {400}),
    (b"FOO /device HTTP/1.1", b"", {400, 405, 501}),
    (b"GET /?__debugger__=yes&cmd=resource&f=style.css HTTP/1.1", b"", {200}),
]


def test_wu_035_045_047_what_is_broken_or_said_to_another_is_refused(served: Served) -> None:
    host = urlsplit(served.url).netloc.encode()
    for line, more, expected in BROKEN:
        parts = [line, b"Host: " + host, b"Connection: close", more + b"\r\n"]
        status, answer = raw(served, b"\r\n".join(parts))
        assert status in expected, line[:60]
        for inside in (b"Traceback", b"site-packages", b"debugger"):
            assert inside not in answer, line[:60]
    status, answer = raw(
        served, b"GET /device HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
    )
    assert (status, b"evil.example" in answer) == (421, False)


FIELDS = [
    "SCRIPT_NAME: /sign-in",
    "Script-Name: /sign-in",
    "SCRIPT_NAME: /elsewhere",
    "PATH_INFO: /metrics",
    "X-Forwarded-Prefix: //evil.example",
    "X-Forwarded-Host: evil.example",
    "X-Forwarded-Proto: https\r\nX-Forwarded-Ssl: off",
    "Forwarded: for=127.0.0.1;host=evil.example;proto=https",
]


def test_wu_036_no_field_of_a_request_makes_it_another(served: Served) -> None:
    """The request comes from loopback, as one does that a proxy there has passed on."""
    host = urlsplit(served.url).netloc

    def answer_to(more: str) -> tuple[int, bytes]:
        head = f"GET /sign-in/metrics HTTP/1.1\r\nHost: {host}\r\n{more}Connection: close\r\n\r\n"
        status, answer = raw(served, head.encode())
        body = answer.partition(b"\r\n\r\n")[2]
        return status, re.sub(rb"[0-9a-f]{32}", b"", body)

    plain = answer_to("")
    for field in FIELDS:
        assert answer_to(f"{field}\r\n") == plain, field
