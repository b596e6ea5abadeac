"""Listeners at every address of the network: who is dialled, under which name, is written down."""

from __future__ import annotations

import gzip
import json
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import trustme

from restante.webhooks.secrets import response_to
from tests.http.callbacks import SECRET, http
from tests.unit.egress.servers import read_request

TLS_PORTS = (443, 8443)
OTHER_PORTS = (22, 25, 80, 6379, 9200, 11211)
Answering = Callable[[ssl.SSLSocket, dict[str, Any]], None]


@dataclass
class Dialled:
    """A connection. `name`: of its TLS. `requests`: how many came. `cut`: its client left before the end."""

    address: str
    port: int
    name: str | None = None
    requests: int = 0
    cut: bool = False


class Everywhere:
    """Answers challenges rightly and takes deliveries, unless a name has another way."""

    def __init__(self, authority: trustme.CA) -> None:
        self.dialled: list[Dialled] = []
        self.answering: dict[str, Answering] = {}
        self._authority = authority
        self._unnamed = trustme.CA().issue_cert("nobody.example.com")
        self._issued: dict[str, ssl.SSLContext] = {}
        self._lock = threading.Lock()
        for port in TLS_PORTS + OTHER_PORTS:
            listener = socket.create_server(
                ("::", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=512
            )
            threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def told(self) -> list[dict[str, Any]]:
        """Every connection there was."""
        return [asdict(one) for one in self.dialled]

    def _accept(self, listener: socket.socket) -> None:
        while True:
            line, _ = listener.accept()
            address, port = line.getsockname()[:2]
            one = Dialled(address.removeprefix("::ffff:"), port)
            self.dialled.append(one)
            threading.Thread(target=self._serve, args=(line, one), daemon=True).start()

    def _serve(self, line: socket.socket, one: Dialled) -> None:
        with line, suppress(OSError):
            if one.port not in TLS_PORTS:
                return
            line.settimeout(30)
            context = self._context(None)

            def named(connection: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
                one.name = name
                connection.context = self._context(name)

            context.sni_callback = named
            with context.wrap_socket(line, server_side=True) as tls:
                said = json.loads(read_request(tls).partition(b"\r\n\r\n")[2])
                one.requests += 1
                try:
                    self.answering.get(one.name or "", well)(tls, said)
                except OSError:
                    one.cut = True

    def _context(self, name: str | None) -> ssl.SSLContext:
        if name is None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._unnamed.configure_cert(context)
            return context
        with self._lock:
            if name not in self._issued:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                self._certificate(name).configure_cert(context)
                self._issued[name] = context
            return self._issued[name]

    def _certificate(self, name: str) -> trustme.LeafCert:
        kind = name.partition(".")[0]
        if kind == "unknown-authority":
            return trustme.CA().issue_cert(name)
        if kind == "expired":
            past = datetime.now(UTC) - timedelta(days=1)
            return self._authority.issue_cert(
                name, not_before=past - timedelta(days=1), not_after=past
            )
        return self._authority.issue_cert("other.example.com" if kind == "wrong-name" else name)


def well(line: ssl.SSLSocket, said: dict[str, Any]) -> None:
    """As a receiver should."""
    body = b""
    if said.get("type") == "callback_challenge":
        response = response_to(SECRET, said["challenge"])
        body = json.dumps({"challenge_response": response}).encode()
    line.sendall(http(body))


def redirecting(status: int, fields: dict[str, str]) -> Answering:
    """Elsewhere, with the right answer in the body."""

    def answer(line: ssl.SSLSocket, said: dict[str, Any]) -> None:
        body = json.dumps({"challenge_response": response_to(SECRET, said["challenge"])}).encode()
        text = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        line.sendall(http(body, status=status, fields=text))

    return answer


def slow(line: ssl.SSLSocket, said: dict[str, Any]) -> None:
    """A byte now and then, for ever."""
    line.sendall(b"HTTP/1.1 200 OK\r\nX: ")
    waiting = threading.Event()
    while not waiting.wait(0.2):
        line.sendall(b"x")


def huge(line: ssl.SSLSocket, said: dict[str, Any]) -> None:
    """The right answer, and behind it as much white space as 100 MiB."""
    response = response_to(SECRET, said["challenge"])
    body = json.dumps({"challenge_response": response}).encode()
    line.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\n" + body)
    for _ in range(1600):
        line.sendall(b" " * 65536)


def bomb(line: ssl.SSLSocket, said: dict[str, Any]) -> None:
    """3.5 MB in less than 4 KiB."""
    packed = gzip.compress(bytes(3_500_000), 9)
    line.sendall(http(packed, fields="Content-Encoding: gzip\r\n"))
