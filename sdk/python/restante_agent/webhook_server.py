"""A receiver of webhooks on the standard library's server, for trying things out. Not for production."""

from __future__ import annotations

import socket
import ssl
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

from restante_agent.errors import ConfigurationError, RestanteError
from restante_agent.version import __version__
from restante_agent.webhook import ChallengeAnswer, Delivery, Receiver
from restante_agent.webhook_message import NotGenuine

MOST_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Came:
    """One request and what was answered. `kind`: delivery, challenge, refused, or failed (by us)."""

    at: datetime
    kind: str
    status: int
    url: str
    delivery: Delivery | None = None
    why: str | None = None


Tell = Callable[[Came], None]


class WebhookServer(ThreadingHTTPServer):
    """Answers deliveries with `status`; `tell` is called for every request, by the request's thread.

    `origin`: scheme and authority under which it is called, where they are not those of the Host field.
    """

    daemon_threads = True

    def __init__(
        self,
        host: str,
        port: int,
        *,
        receiver: Receiver,
        tell: Tell,
        status: int = 204,
        origin: str | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.receiver, self.tell, self.status, self.origin = receiver, tell, status, origin
        try:
            family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
            self.address_family = family
            super().__init__(cast("tuple[str, int]", address[:2]), _Handler)
        except OSError as error:
            raise ConfigurationError(
                f"cannot listen at {host} port {port}: {error.strerror or error}; --port gives another"
            ) from error
        if tls is not None:  # each connection's own thread shakes hands
            self.socket = tls.wrap_socket(
                self.socket, server_side=True, do_handshake_on_connect=False
            )

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say it in a line: a peer that does not trust our certificate is no error of this program."""
        error = sys.exc_info()[1]
        why = f"the connection of {client_address[0]} broke: {error}"
        self.tell(Came(datetime.now(UTC), "failed", 0, "", why=why))


class _Handler(BaseHTTPRequestHandler):
    server: WebhookServer
    server_version = f"restante-agent/{__version__}"
    timeout = 30

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not length.isascii() or not length.isdigit() or int(length) > MOST_BYTES:
            self._end("refused", 413, why=f"a length of {length or 'nothing'} is none to take")
            return
        body = self.rfile.read(int(length))
        fields: dict[str, str] = {}
        for name, value in self.headers.items():
            name = name.lower()  # noqa: PLW2901 - the same name
            fields[name] = f"{fields[name]}, {value}" if name in fields else value
        try:
            came = self.server.receiver.receive("POST", self._url(), fields, body)
        except NotGenuine as error:
            self._end("refused", 401, why=str(error))
        except RestanteError as error:
            self._end("failed", 503, why=str(error))
        else:
            if isinstance(came, ChallengeAnswer):
                self._end("challenge", 200, content=came.body)
            else:
                self._end("delivery", self.server.status, delivery=came)

    def _url(self) -> str:
        origin = self.server.origin or f"https://{self.headers.get('Host', '')}"
        return origin + self.path

    def _end(
        self,
        kind: str,
        status: int,
        *,
        content: bytes = b"",
        delivery: Delivery | None = None,
        why: str | None = None,
    ) -> None:
        self.send_response(status)
        if content:
            self.send_header("Content-Type", "application/json")
        if status != 204:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        self.server.tell(Came(datetime.now(UTC), kind, status, self._url(), delivery, why))

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: `tell` says it."""
