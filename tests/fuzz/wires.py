"""What no HTTP library would write: requests as bytes, and what may come back for them."""

from __future__ import annotations

import random
import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

SMUGGLED = "zq7x-smuggled"
MIB = 1024 * 1024
REFUSED = frozenset({0, 400, 401, 403, 404, 405, 411, 413, 414, 415, 417, 422, 431, 501, 505})
"""0: the server hung up and said nothing."""


@dataclass(frozen=True, slots=True)
class Line:
    """The way to a server, and the token of somebody who may publish at it."""

    host: str
    port: int
    token: str
    timeout_seconds: float = 30.0

    def dial(self) -> socket.socket:
        """A connection to it."""
        return socket.create_connection((self.host, self.port), timeout=self.timeout_seconds)

    def raw(self, sent: bytes) -> bytes:
        """All that comes back for it until the server hangs up; TimeoutError where it does not."""
        got = b""
        with self.dial() as connection:
            try:
                connection.sendall(sent)
                connection.shutdown(socket.SHUT_WR)  # nothing follows that it could wait for
                while chunk := connection.recv(65_536):
                    got += chunk
            except TimeoutError:
                raise
            except OSError:  # it hung up on the rest
                pass
        return got

    def head(self, target: str, *fields: str, method: str = "POST", close: bool = True) -> bytes:
        """The head of a request that is right but for what is given."""
        lines = [
            f"{method} {target} HTTP/1.1",
            f"Host: {self.host}:{self.port}",
            f"Authorization: Bearer {self.token}",
            *(["Connection: close"] if close else []),
            *(["Content-Type: application/json"] if method == "POST" else []),
            *fields,
        ]
        return "\r\n".join([*lines, "", ""]).encode("latin-1")


def statuses(got: bytes) -> list[int]:
    """Those of all answers in what came back."""
    return [int(status) for status in re.findall(rb"HTTP/1\.[01] (\d{3}) ", got)]


def chunked(line: Line, target: str) -> Iterator[bytes]:
    """Chunks that are none, or too many; each is to be refused."""
    head = line.head(target, "Transfer-Encoding: chunked")
    for chunks in (
        b"ZZ\r\n{}\r\n0\r\n\r\n",
        b"-2\r\n{}\r\n0\r\n\r\n",
        b"0x2\r\n{}\r\n0\r\n\r\n",
        b"2_0\r\n{}\r\n0\r\n\r\n",
        b" 2\r\n{}\r\n0\r\n\r\n",
        b"2\n{}\n0\n\n",
        b"2\r\n{}XX0\r\n\r\n",
        b"2\r\n{}\r\n0\r\nContent-Length: 5\r\n\r\n",
        b"F" * 17 + b"\r\n{}\r\n0\r\n\r\n",
        b"F" * 100_000 + b"\r\n{}\r\n0\r\n\r\n",
        b"2;" + b"a=b;" * 100_000 + b"\r\n{}\r\n0\r\n\r\n",
        b"2\r\n{}\r\n0\r\n" + b"X-T: 1\r\n" * 50_000 + b"\r\n",
        b"1\r\n{\r\n" * 300_000 + b"0\r\n\r\n",
        b"\r\n\r\n",
        b"2\x00\r\n{}\r\n0\r\n\r\n",
    ):
        yield head + chunks


def heads(line: Line, target: str) -> Iterator[bytes]:
    """Floods of fields, and lines that are none."""
    host = f"Host: {line.host}:{line.port}"
    start = f"GET {target} HTTP/1.1\r\n{host}\r\nConnection: close\r\n"
    for fields in (
        "X-A: 1\r\n" * 10_000,
        "X-A: " + "a" * 1_000_000 + "\r\n",
        "A" * 1_000_000,
        "Cookie: a=b\r\n" * 90 + "Cookie: " + "a=b; " * 100_000 + "\r\n",
        f"{host}\r\n",
        "X A: 1\r\n",
        "X-A : 1\r\n",
        " X-A: 1\r\n",
        "X-A: 1\r\n folded\r\n",
        ": 1\r\n",
        "X-A\r\n",
        "X-A: a\x00b\r\n",
        "X-A: a\rb\r\n",
        "X\xff: 1\r\n",
        "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Content-Length: +5\r\n",
        "Content-Length: 5, 5\r\n",
        "Content-Length: \u00b2\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Expect: 200-maybe\r\n",
        "Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAAA\r\n",
    ):
        yield f"{start}{fields}\r\n".encode("latin-1")
    for lines in (
        f"GET {'/' + 'a' * 100_000} HTTP/1.1\r\n{host}\r\n\r\n",
        f"GET {target} HTTP/9.9\r\n{host}\r\n\r\n",
        f"GET {target}\r\n\r\n",
        f"G\x00T {target} HTTP/1.1\r\n{host}\r\n\r\n",
        f"GET  {target}  HTTP/1.1\r\n{host}\r\n\r\n",
        f"GET http://evil.example{target} HTTP/1.1\r\n{host}\r\nConnection: close\r\n\r\n",
        f"CONNECT evil.example:443 HTTP/1.1\r\n{host}\r\nConnection: close\r\n\r\n",
        f"OPTIONS * HTTP/1.1\r\n{host}\r\nConnection: close\r\n\r\n",
        f"{'M' * 10_000} / HTTP/1.1\r\n{host}\r\n\r\n",
        f"GET {target}#x HTTP/1.1\r\n{host}\r\nConnection: close\r\n\r\n",
        f"GET {target}\tx HTTP/1.1\r\n{host}\r\nConnection: close\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "\r\n" * 10_000,
    ):
        yield lines.encode("latin-1")
    yield b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500)
    yield bytes(range(256)) * 100


def smuggled(line: Line, target: str) -> Iterator[bytes]:
    """Requests with another inside, which must not be answered."""
    inner = line.head("/health/live", f"X-Request-Id: {SMUGGLED}", method="GET")
    for fields, body in (
        (("Content-Length: 5", "Transfer-Encoding: chunked"), b"0\r\n\r\n"),
        (("Transfer-Encoding: chunked", "Content-Length: 5"), b"0\r\n\r\n"),
        (("Transfer-Encoding: chunked", "Transfer-Encoding: identity"), b"0\r\n\r\n"),
        (("Transfer-Encoding: xchunked", "Content-Length: 0"), b"0\r\n\r\n"),
        (("Transfer-Encoding : chunked", "Content-Length: 0"), b""),
        (("Transfer-Encoding:\x0bchunked", "Content-Length: 0"), b""),
        (("Content-Length: 0", f"Content-Length: {len(inner)}"), b""),
        (("Content-Length: 0\x00",), b""),
        (("Content-Length: 00000000000000000000000x",), b""),
        (("Transfer-Encoding: chunked",), b"0\r\nX: y\n\r\n\r\n"),
        (("Content_Length: 0", "Transfer-Encoding: chunked"), b"zz\r\n"),
    ):
        yield line.head(target, *fields, close=False) + body + inner


def pipelined(line: Line, draw: random.Random, many: int) -> tuple[bytes, list[str]]:
    """So many requests in one piece, and the ids that the answers have, in order."""
    ids = [f"pipelined-{number}-{draw.getrandbits(32):x}" for number in range(many)]
    pieces = []
    for number, name in enumerate(ids):
        close = number == many - 1
        field = f"X-Request-Id: {name}"
        if draw.random() < 0.3:
            body = b'{"limit":1,"x":' + b"1" * draw.randrange(1, 3_000) + b"}"
            pieces.append(
                line.head("/api/v1/events", field, f"Content-Length: {len(body)}", close=close)
            )
            pieces.append(body)
        else:
            target = draw.choice(("/health/live", "/nowhere", "/api/v1/events/evt_x"))
            pieces.append(line.head(target, field, method="GET", close=close))
    return b"".join(pieces), ids


def slow_bodies(line: Line, target: str, many: int, stack: ExitStack) -> list[socket.socket]:
    """So many bodies of which only the first byte has come; their connections end with the stack."""
    head = line.head(target, f"Content-Length: {MIB}")
    connections = [stack.enter_context(line.dial()) for _ in range(many)]
    for connection in connections:
        connection.sendall(head + b"{")
    return connections


def big_bodies(limit: int) -> Iterator[bytes]:
    """Bodies as large as may be, each of another kind."""
    yield b'{"payload":{"a":"' + b"x" * (limit - 20) + b'"}}'
    yield b'{"type":"' + b"\\u0000" * ((limit - 20) // 6) + b'"}'
    yield b'{"events":[' + b"{}," * ((limit - 20) // 3) + b"{}]}"
    yield b'{"recipients":[' + b'"",' * ((limit - 20) // 3) + b'""]}'
    yield b'{"payload":' + b"[" * (limit // 2 - 9) + b"]" * (limit // 2 - 9) + b"}"
    yield b'{"payload":{"a":[' + b"0," * ((limit - 40) // 2) + b"0]}}"
    yield b"{" + b",".join(b'"%06x":0' % number for number in range(limit // 11 - 1)) + b"}"
    yield b'{"priority":1' + b"0" * (limit - 20) + b"}"
    yield b'{"payload":{"a":"' + b'\\"' * ((limit - 40) // 2) + b'"}}'
    yield b" " * (limit - 2) + b"{}"
