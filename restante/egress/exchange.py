"""One request and its answer as bytes (RFC 9112), on a line that is closed afterwards.

The request is put together here, so the bytes that were signed are the bytes sent. The answer's
framing is read by the standard library's parser; nothing is decoded, followed or kept.
"""

from __future__ import annotations

import io
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from typing import TypeAlias, cast

from restante.egress.dial import Line
from restante.egress.refusal import CallFailed, Cause
from restante.egress.url import Target

Stream: TypeAlias = "io.BufferedReader[_Incoming]"

HEAD_BYTES = 64 * 1024
INTERIM_ANSWERS = 8
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[!-~](?:[ -~]*[!-~])?|")
# what frames the message, or would change whom it is for
OURS = frozenset(
    {
        *("accept-encoding", "connection", "content-length", "cookie", "expect", "host"),
        *("keep-alive", "proxy-authorization", "te", "trailer", "transfer-encoding", "upgrade"),
    }
)


@dataclass(frozen=True, slots=True)
class Received:
    """Status, fields by lower-case name (the first of each), and at most the bytes that were asked for."""

    status: int
    fields: Mapping[str, str]
    body: bytes
    truncated: bool


def request_bytes(
    method: str, target: Target, *, fields: Mapping[str, str], body: bytes | None
) -> bytes:
    """The request; ValueError for a method or field that may not be sent."""
    if not _TOKEN.fullmatch(method):
        raise ValueError(f"{method!r} is no method")
    lines = [f"{method} {target.path} HTTP/1.1", f"Host: {target.authority}"]
    for name, value in fields.items():
        if not _TOKEN.fullmatch(name) or name.lower() in OURS or not _VALUE.fullmatch(value):
            raise ValueError(f"the field {name!r} may not be sent with {value!r}")
        lines.append(f"{name}: {value}")
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    lines += ["Accept-Encoding: identity", "Connection: close", "", ""]
    return "\r\n".join(lines).encode("ascii") + (body or b"")


def read_answer(line: Line, *, method: str, limit: int) -> Received:
    """Read one answer, at most `limit` bytes of its body; raises CallFailed."""
    with io.BufferedReader(_Incoming(line, HEAD_BYTES + limit)) as stream:
        try:
            answer = _begin(stream, method)
            body = answer.read(limit + 1)
            if answer.length and len(body) <= limit:
                raise CallFailed(Cause.PROTOCOL, "the answer ended before its length")
        except (HTTPException, ValueError) as error:
            note = f"the answer is no HTTP: {type(error).__name__}"
            raise CallFailed(Cause.PROTOCOL, note) from None
    fields: dict[str, str] = {}
    for name, value in answer.getheaders():
        fields.setdefault(name.lower(), value)
    return Received(
        status=answer.status, fields=fields, body=body[:limit], truncated=len(body) > limit
    )


def _begin(stream: Stream, method: str) -> HTTPResponse:
    """The first answer that is not an interim one (RFC 9110 section 15.2)."""
    for _ in range(INTERIM_ANSWERS):
        answer = HTTPResponse(cast("socket.socket", _Reread(stream)), method=method)
        answer.begin()
        if answer.status >= 200:
            return answer
        answer.fp = None  # type: ignore[assignment]  # else it closes the stream when it goes
    raise CallFailed(Cause.PROTOCOL, "interim answers without end")


class _Reread:
    """What HTTPResponse takes from a socket: a file, here the same one for every answer."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def makefile(self, mode: str) -> Stream:
        return self._stream


class _Incoming(io.RawIOBase):
    """A line as a file that has at most `limit` bytes."""

    def __init__(self, line: Line, limit: int) -> None:
        self._line = line
        self._left = limit
        self._held = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # BufferedReader hands this
        if not self._held:
            self._held = self._line.receive()
        part = self._held[: len(buffer)]
        self._held = self._held[len(part) :]
        self._left -= len(part)
        if self._left < 0:
            raise CallFailed(Cause.PROTOCOL, "the answer's head or framing is too long")
        buffer[: len(part)] = part
        return len(part)
