"""JSON bodies whose payloads are kept byte for byte.

orjson reads and checks the whole body. A second, shallow walk over its bytes finds where the
members that are kept raw begin and end, and refuses a name that stands twice in the envelope
(RFC 8259, section 4, leaves open which of the two counts). What is inside a payload is not walked.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import orjson

STRING = rb'"[^"\\]*(?:\\.[^"\\]*)*+"'
_MEMBER = re.compile(rb'[\s,]*+"([^"\\]*(?:\\.[^"\\]*)*+)"\s*+:\s*+')
_SCALAR = re.compile(STRING + rb'|[^\s,\]}"\[{]++')
_TO_BRACKET = re.compile(rb"(?:[^\"\[\]{}]++|" + STRING + rb")*+[\[\]{}]")
_SPACE = re.compile(rb"[\s,]*+")
_END = re.compile(rb"\s*+}")
_END_OF_ARRAY = re.compile(rb"\s*+\]")
# deeper than any envelope: what is there is unknown, and refused by its name
_WALKED = 6


class NoObject(Exception):
    """The text is no JSON object, or names a member twice; the message says where."""


@dataclass(frozen=True, slots=True)
class Raw:
    """A JSON value as the bytes that were received, and what they mean."""

    text: bytes
    value: Any


def read_object(text: bytes, raw: frozenset[str]) -> dict[str, Any]:
    """The object that `text` is, its members named in `raw` as Raw, on every level of the envelope.

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
        text, seen = self.text, set()
        while (end := _END.match(text, at)) is None:
            member = _MEMBER.match(text, at)
            at = member.end()  # type: ignore[union-attr]  # the text is JSON
            name = _name(member[1])  # type: ignore[index]  # the text is JSON
            if name in seen:
                raise NoObject(f"The member {name[:64]!r} is named twice in one object.")
            seen.add(name)
            if name in self.raw:
                end_of_value = self.skip(at)
                value[name] = Raw(text[at:end_of_value], value[name])
                at = end_of_value
            elif text[at] in b"{[":
                at = self.value(at, value[name], depth)
            else:
                at = _SCALAR.match(text, at).end()  # type: ignore[union-attr]  # the text is JSON
        return end.end()

    def items(self, at: int, value: list[Any], depth: int) -> int:
        """From behind `[` to behind its `]`."""
        text = self.text
        for item in value:
            at = self.value(_SPACE.match(text, at).end(), item, depth)  # type: ignore[union-attr]  # the text is JSON
        return _END_OF_ARRAY.match(text, at).end()  # type: ignore[union-attr]  # the text is JSON

    def value(self, at: int, value: Any, depth: int) -> int:
        """From a value's first byte to behind its last."""
        first = self.text[at]
        if depth < _WALKED:
            if first == 0x7B:
                return self.members(at + 1, value, depth + 1)
            if first == 0x5B:
                return self.items(at + 1, value, depth + 1)
        return self.skip(at)

    def skip(self, at: int) -> int:
        """The same without looking inside."""
        text = self.text
        if text[at] not in b"{[":
            return _SCALAR.match(text, at).end()  # type: ignore[union-attr]  # the text is JSON
        depth = 0
        while True:
            at = _TO_BRACKET.match(text, at).end()  # type: ignore[union-attr]  # the text is JSON
            depth += 1 if text[at - 1] in b"{[" else -1
            if not depth:
                return at


def _name(written: bytes) -> str:
    return orjson.loads(b'"' + written + b'"') if b"\\" in written else written.decode()
