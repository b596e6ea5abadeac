"""TLS servers on loopback with certificates of a test authority, each answering as it is told."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import trustme

from restante.egress.allowance import Allowance
from restante.egress.client import Egress
from restante.egress.dial import Dialler, Patience, tls_context
from restante.egress.policy import Policy
from tests.unit.egress.canned import Names

NAME = "hooks.example.com"
Answering = Callable[[ssl.SSLSocket], None]


@dataclass
class Server:
    """A running server: its port, what was asked of it, and under which names (SNI)."""

    port: int
    requests: list[bytes] = field(default_factory=list)
    names: list[str | None] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"https://{NAME}:{self.port}/hook"


def read_request(line: ssl.SSLSocket) -> bytes:
    """One request with its body."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += _some(line)
    head, _, body = data.partition(b"\r\n\r\n")
    for field_line in head.split(b"\r\n"):
        name, _, value = field_line.partition(b": ")
        if name == b"Content-Length":
            while len(body) < int(value):
                body += _some(line)
    return head + b"\r\n\r\n" + body


def _some(line: ssl.SSLSocket) -> bytes:
    data = line.recv(65536)
    if not data:
        raise ConnectionResetError("the client left")
    return data


def saying(answer: bytes) -> Answering:
    return lambda line: line.sendall(answer)


@contextmanager
def serving(
    authority: trustme.CA, answering: Answering, *, name: str = NAME, **certificate: object
) -> Iterator[Server]:
    """Serve until the end of the block, one connection at a time."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name, **certificate).configure_cert(context)  # type: ignore[arg-type]  # dates
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = Server(listener.getsockname()[1])

        def note(connection: ssl.SSLObject, asked: str | None, _: ssl.SSLContext) -> None:
            server.names.append(asked)

        context.sni_callback = note
        thread = threading.Thread(
            target=_serve, args=(listener, context, server, answering), daemon=True
        )
        thread.start()
        try:
            yield server
        finally:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            thread.join(10)


def _serve(
    listener: socket.socket, context: ssl.SSLContext, server: Server, answering: Answering
) -> None:
    while True:
        try:
            plain, _ = listener.accept()
        except OSError:
            return
        with suppress(OSError), plain:
            plain.settimeout(10)
            with context.wrap_socket(plain, server_side=True) as line:
                server.requests.append(read_request(line))
                answering(line)


def egress_to(
    server: Server, *, ca_file: Path | None, names: Names | None = None, step_seconds: float = 10
) -> Egress:
    """A client that finds the server under its name and may call it there."""
    policy = Policy(allowance=Allowance(hosts=frozenset({(NAME, server.port)})))
    return Egress(
        policy,
        resolver=names or Names([["127.0.0.1"]]),
        dial=Dialler(tls_context(ca_file), Patience(step_seconds=step_seconds)),
    )
