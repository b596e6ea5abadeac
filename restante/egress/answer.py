"""Reading an answer (RFC 9112), strictly in what frames it: half an answer is none.

The standard library's parser takes the end of the stream for the end of the head, a length that it
cannot read for none, and drops fields behind a line that is no field. By an answer an event is
settled, so here each of them is a failed call.

A body without a length ends with the connection, also where TLS was not ended before (section 9.8
leaves that to us): its head came whole, and nothing is believed of a body but what it proves itself.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from restante.egress.dial import Line
from restante.egress.refusal import CallFailed, Cause

Stream: TypeAlias = "io.BufferedReader[_Incoming]"

HEAD_BYTES = 64 * 1024
MOST_FIELDS = 100
INTERIM_ANSWERS = 8
TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_STATUS = re.compile(r"HTTP/1\.[0-9] ([1-9][0-9]{2})(?: .*)?")
_LENGTH = re.compile(r"[0-9]{1,18}")
_CHUNK = re.compile(r"([0-9A-Fa-f]{1,16})[ \t]*(?:;.*)?")


@dataclass(frozen=True, slots=True)
class Received:
    """Status, fields by lower-case name (the first of each), and at most the bytes that were asked for."""

    status: int
    fields: Mapping[str, str]
    body: bytes
    truncated: bool


@dataclass(frozen=True, slots=True)
class _Head:
    status: int
    fields: list[tuple[str, str]]

    def every(self, name: str) -> list[str]:
        """All members of a field that is a list, however often it was sent (RFC 9110 section 5.3)."""
        values = [value for named, value in self.fields if named == name]
        return [member.strip(" \t") for value in values for member in value.split(",")]


def read_answer(line: Line, *, method: str, limit: int) -> Received:
    """Read one answer, at most `limit` bytes of its body; raises CallFailed."""
    with io.BufferedReader(_Incoming(line, HEAD_BYTES + limit)) as stream:
        head = _last_head(stream)
        body = _body(stream, head, method, limit + 1)
    fields: dict[str, str] = {}
    for name, value in head.fields:
        fields.setdefault(name, value)
    return Received(head.status, fields, body[:limit], truncated=len(body) > limit)


def _last_head(stream: Stream) -> _Head:
    """The first that is not of an interim answer (RFC 9110 section 15.2)."""
    for _ in range(INTERIM_ANSWERS):
        head = _head(stream)
        if head.status >= 200:
            return head
    raise _no_http("interim answers without end")


def _head(stream: Stream) -> _Head:
    found = _STATUS.fullmatch(_line(stream))
    if found is None:
        raise _no_http("it begins with no status line")
    fields: list[tuple[str, str]] = []
    while text := _line(stream):
        if text[0] in " \t" and fields:  # folded, which is a space (RFC 9112 section 5.2)
            name, value = fields.pop()
            text = f"{name}:{value} {text.strip()}"
        name, colon, value = text.partition(":")
        name = name.rstrip(" \t").lower()
        if not colon or not TOKEN.fullmatch(name):
            raise _no_http("a line of its head is no field")
        fields.append((name, value.strip(" \t")))
        if len(fields) > MOST_FIELDS:
            raise _no_http(f"it has more than {MOST_FIELDS} fields")
    return _Head(int(found[1]), fields)


def _body(stream: Stream, head: _Head, method: str, most: int) -> bytes:
    """At most so many bytes of it (RFC 9112 section 6.3)."""
    if method == "HEAD" or head.status in (204, 304):
        return b""
    codings, lengths = head.every("transfer-encoding"), head.every("content-length")
    if codings:
        if lengths or [coding.lower() for coding in codings] != ["chunked"]:
            raise _no_http("it is framed in another way than chunks, or in two ways")
        return _chunks(stream, most)
    if not lengths:
        return stream.read(most)
    if len(set(lengths)) > 1 or not _LENGTH.fullmatch(lengths[0]):
        raise _no_http("its length is no number")
    return _exactly(stream, int(lengths[0]), most)


def _chunks(stream: Stream, most: int) -> bytes:
    body = b""
    while True:
        found = _CHUNK.fullmatch(_line(stream))
        if found is None:
            raise _no_http("a chunk has no length")
        size = int(found[1], 16)
        if size == 0:
            break
        body += _exactly(stream, size, most - len(body))
        if len(body) == most:
            return body
        if _line(stream):
            raise _no_http("a chunk is longer than it says")
    while _line(stream):  # the trailer
        pass
    return body


def _exactly(stream: Stream, size: int, most: int) -> bytes:
    """So many bytes, or the most of them that are wanted."""
    wanted = min(size, most)
    data = stream.read(wanted)
    if len(data) < wanted:
        raise _no_http("it ended before its length")
    return data


def _line(stream: Stream) -> str:
    """One line without its end, which must be there."""
    data = stream.readline()
    if not data.endswith(b"\n"):
        raise _no_http("it ended in the middle of a line")
    data = data[:-1].removesuffix(b"\r")
    if b"\r" in data or b"\0" in data:
        raise _no_http("a line of it has characters that have no place there")
    return data.decode("latin-1")


def _no_http(why: str) -> CallFailed:
    return CallFailed(Cause.PROTOCOL, f"the answer is no HTTP: {why}")


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
