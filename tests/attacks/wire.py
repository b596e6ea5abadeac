"""HTTP as an attacker writes it: fields may come twice, addresses differ, no answer may be a 5xx."""

from __future__ import annotations

import http.client
import itertools
import json
import os
import socket
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

FORM = "application/x-www-form-urlencoded"
BUSY_TIMES = 20
"""A 503 comes after a second of waiting and has changed nothing (contract 3)."""
Fields = Mapping[str, str] | Sequence[tuple[str, str]]
_addresses = itertools.count(1)


def new_address() -> str:
    """A loopback address that nothing was counted for yet."""
    number = next(_addresses) + (os.getpid() % 200) * 256
    return f"127.{1 + number // 65536}.{number // 256 % 256}.{number % 256}"


def basic(client_id: str, secret: str) -> dict[str, str]:
    return {"Authorization": "Basic " + b64encode(f"{client_id}:{secret}".encode()).decode()}


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@dataclass(frozen=True)
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def problem(self) -> str:
        """`401 signature-invalid`."""
        assert self.headers["Content-Type"] == "application/problem+json", self.body
        return f"{self.status} {self.json['type'].rpartition('/')[2]}"

    def without(self, *texts: str) -> tuple[int, str]:
        """Status and body, without these texts and what is a request's own."""
        told = {k: v for k, v in self.json.items() if k not in ("request_id", "instance")}
        written = json.dumps(told)
        for text in texts:
            written = written.replace(text, "")
        return self.status, written

    @property
    def error(self) -> str:
        """`400 invalid_grant`, as RFC 6749 writes it."""
        assert self.headers["Content-Type"].startswith("application/json"), self.body
        assert "no-store" in self.headers["Cache-Control"]
        return f"{self.status} {self.json['error']}"

    @property
    def is_invalid_token(self) -> bool:
        """Refused exactly like any other bad token (RFC 6750, section 3)."""
        return self.status == 401 and (
            self.problem == "401 unauthenticated"
            and self.headers["WWW-Authenticate"] == 'Bearer realm="restante", error="invalid_token"'
            and self.json["detail"]
            == "No valid access token came: one lives ten minutes, and /oauth/token gives the next."
        )


@dataclass(frozen=True)
class Wire:
    """A way to the server, from one address."""

    host: str
    port: int
    address: str = "127.0.0.1"

    def send(
        self, method: str, target: str, fields: Fields = (), body: bytes | None = None
    ) -> Answer:
        """The answer, which is never a 5xx; one that found the server busy is sent again."""
        for _ in range(BUSY_TIMES):
            answer = self._send(method, target, fields, body)
            if answer.status != 503 or "Retry-After" not in answer.headers:
                break
        assert answer.status < 500, (answer.status, answer.body)
        assert b"Traceback" not in answer.body
        return answer

    def _send(self, method: str, target: str, fields: Fields, body: bytes | None) -> Answer:
        connection = self._connection()
        try:
            connection.putrequest(method, target, skip_accept_encoding=True)
            for name, value in fields.items() if isinstance(fields, Mapping) else fields:
                connection.putheader(name, value.encode("latin-1"))
            if body is not None or method in ("POST", "PUT", "PATCH"):
                connection.putheader("Content-Length", str(len(body or b"")))
            connection.endheaders(body or None)
            got = connection.getresponse()
            return Answer(got.status, got.headers, got.read())
        finally:
            connection.close()

    def form(self, target: str, fields: Fields = (), **form: str) -> Answer:
        """POST a form."""
        pairs = fields.items() if isinstance(fields, Mapping) else fields
        body = urlencode(form).encode()
        return self.send("POST", target, [*pairs, ("Content-Type", FORM)], body)

    def raw(self, text: bytes) -> tuple[int, bytes]:
        """Status and whole answer to bytes as they are; 0 where the server hung up on them unread."""
        got = b""
        with socket.create_connection(
            (self.host, self.port), timeout=30, source_address=(self.address, 0)
        ) as connection:
            try:
                connection.sendall(text)
                while chunk := connection.recv(65_536):
                    got += chunk
            except ConnectionError:
                pass
        status = int(got.split(b" ", 2)[1]) if got else 0
        assert status < 500, got
        return status, got

    def _connection(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(
            self.host, self.port, timeout=60, source_address=(self.address, 0)
        )
