"""JSON bodies whose payloads are kept byte for byte.

orjson reads and checks the whole body. A second, shallow walk over its bytes finds where the
members that are kept raw begin and end, and refuses a name that stands twice in the envelope
(RFC 8259, section 4, leaves open which of the two counts). What is inside a payload is not walked.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import orjson

DEEPEST = 64
"""Levels of nesting in a payload."""

# Possessive throughout: the text is JSON already, so nothing ever has to be tried another way.
_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_MEMBER = re.compile(
    rb'[\s,]*+"([^"\\]*+(?:\\.[^"\\]*+)*+)"\s*+:\s*+(' + _STRING + rb'|[^\s,\]}"\[{]++)?+'
)
# typed as what always matches: the text is JSON
_SCALAR: Any = re.compile(_STRING + rb'|[^\s,\]}"\[{]++')
_SPACE: Any = re.compile(rb"[\s,]*+")
_END: Any = re.compile(rb"\s*+}")
_END_OF_ARRAY: Any = re.compile(rb"\s*+\]")
# an envelope is less deep; what lies deeper is unknown, and refused by its name
_WALKED = 6


def _nested(levels: int) -> re.Pattern[bytes]:
    """An array or object of at most so many levels: one expression within the other."""
    pattern = rb""
    for _ in range(levels):
        inner = rb"|" + pattern if pattern else b""
        pattern = rb"[\[{](?:[^\"\[\]{}]++|" + _STRING + inner + rb")*+[\]}]"
    return re.compile(pattern)


_NESTED = _nested(DEEPEST)


class NoObject(Exception):
    """The text is no JSON object, or names a member twice; the message says where."""


@dataclass(frozen=True, slots=True)
class Raw:
    """A JSON value as the bytes that were received, and what they mean."""

    text: bytes
    value: Any


def read_object(text: bytes, raw: frozenset[str]) -> dict[str, Any]:
    """The object that `text` is, its members named in `raw` as Raw or None, wherever in the envelope.

    Raises NoObject.
    """
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise NoObject(f"The body is no JSON: {error}.") from None
    if type(value) is not dict:
        raise NoObject("The body must be a JSON object: { … }.")
    try:
        _Walk(text, raw).members(text.index(b"{") + 1, value, 0)
    except (KeyError, IndexError, TypeError, AttributeError):
        # text and value can only differ where the text names a member twice
        raise NoObject("A member is named twice in one object.") from None
    return value


class _Walk:
    """One walk over a text that orjson has accepted."""

    __slots__ = ("raw", "text")

    def __init__(self, text: bytes, raw: frozenset[str]) -> None:
        self.text = text
        self.raw = raw

    def members(self, at: int, value: dict[str, Any], depth: int) -> int:
        """From behind `{` to behind its `}`."""
        text, raw, names = self.text, self.raw, []
        while (member := _MEMBER.match(text, at)) is not None:
            written, scalar = member.groups()
            name = written.decode() if b"\\" not in written else orjson.loads(b'"' + written + b'"')
            names.append(name)
            at = member.end()
            if name in raw:
                start = member.start(2) if scalar is not None else at
                at = at if scalar is not None else self.skip(at)
                if value[name] is not None:  # null says what absence says, as for any member
                    value[name] = Raw(text[start:at], value[name])
            elif scalar is None:
                at = self.value(at, value[name], depth)
        if len(names) > len(value):
            twice = Counter(names).most_common(1)[0][0]
            raise NoObject(f"The member {twice[:64]!r} is named twice in one object.")
        end: int = _END.match(text, at).end()
        return end

    def items(self, at: int, value: list[Any], depth: int) -> int:
        """From behind `[` to behind its `]`."""
        text = self.text
        for item in value:
            at = _SPACE.match(text, at).end()
            nested = type(item) in (dict, list)
            at = self.value(at, item, depth) if nested else _SCALAR.match(text, at).end()
        end: int = _END_OF_ARRAY.match(text, at).end()
        return end

    def value(self, at: int, value: Any, depth: int) -> int:
        """From the first byte of an array or object to behind its last."""
        if depth < _WALKED:
            if type(value) is dict:
                return self.members(at + 1, value, depth + 1)
            if any(type(item) in (dict, list) for item in value):
                return self.items(at + 1, value, depth + 1)
        return self.skip(at)

    def skip(self, at: int) -> int:
        """The same without looking inside."""
        text = self.text
        closed = b"}" if text[at] == 0x7B else b"]"
        end = text.index(closed, at) + 1
        # nothing opens in between, and outside of strings: quotes are even, and none is escaped
        if (
            text.count(b'"', at, end) % 2 == 0
            and text.count(b"{", at, end) + text.count(b"[", at, end) == 1
            and text.find(b'\\"', at, end) < 0
        ):
            return end
        nested = _NESTED.match(text, at)
        if nested is None:
            raise NoObject(f"The body is nested deeper than {DEEPEST} levels.")
        return nested.end()
