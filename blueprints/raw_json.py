"""JSON bodies whose payloads are kept byte for byte.

orjson reads and checks the whole body. A second, shallow walk over its bytes finds where the
members that are kept raw begin and end, and refuses a name that stands twice in the envelope
(RFC 8259, section 4, leaves open which of the two counts). What is inside a payload is not walked.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, NamedTuple

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


MOST_PARTS = 50_000
"""Members and items of an envelope: a call of 1,000 publications has fewer than 40,000."""


class Crowded(Exception):
    """The envelope has more members and items than any body that is valid."""


class NoObject(Exception):
    """The text is no JSON object, or names a member twice; the message says where."""


class Raw(NamedTuple):
    """A JSON value as the bytes that were received, and what they mean.

    `more`: the same member of the objects that follow in an array and are written like this one's
    but for it, byte for byte.
    """

    text: bytes
    value: Any
    more: list[Raw]


Alike = tuple[bytes, str, bytes, Raw]
"""What stands before a member's value, its name, what stands behind it, and the first one."""


def read_object(text: bytes, raw: frozenset[str]) -> dict[str, Any]:
    """The object that `text` is, its members named in `raw` as Raw or None, wherever in the envelope.

    Raises NoObject, and Crowded.
    """
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise NoObject(f"The body is no JSON: {error}.") from None
    if type(value) is not dict:
        raise NoObject("The body must be a JSON object: { … }.")
    # a part is two bytes at least; each would be walked, and could be a fault to be told
    if len(text) > 2 * MOST_PARTS and _is_crowded(value, raw):
        raise Crowded
    # a name read ≤ a name written ≤ a colon: where all are as many, no name stands twice
    if not _may_name(text, raw) and text.count(b":") == _names_in(value, 0):
        return value
    try:
        _Walk(text, raw).members(text.index(b"{") + 1, value, 0)
    except (KeyError, IndexError, TypeError, AttributeError):
        # text and value can only differ where the text names a member twice
        raise NoObject("A member is named twice in one object.") from None
    return value


def _is_crowded(value: dict[str, Any], raw: frozenset[str]) -> bool:
    """Whether it has more than MOST_PARTS members and items, outside of those that are kept raw."""
    parts, left = 0, [value]
    while left and parts <= MOST_PARTS:
        one: Any = left.pop()
        parts += len(one)
        if parts <= MOST_PARTS:
            inner = one if type(one) is list else (v for name, v in one.items() if name not in raw)
            left += [item for item in inner if type(item) in (dict, list)]
    return parts > MOST_PARTS


def _may_name(text: bytes, raw: frozenset[str]) -> bool:
    """Whether a name of `raw` may stand in the text; escaped, it could be written in many ways."""
    return b"\\" in text or any(b'"%b"' % name.encode() in text for name in raw)


def _names_in(value: Any, depth: int) -> int:
    """How many members all objects of an envelope have; -1 where it is too deep to be one."""
    if depth > _WALKED:
        return -1
    names = 0
    nested = value
    if type(value) is dict:
        names, nested = len(value), value.values()
    for item in nested:
        if type(item) in (dict, list):
            more = _names_in(item, depth + 1)
            if more < 0:
                return -1
            names += more
    return names


class _Walk:
    """One walk over a text that orjson has accepted."""

    __slots__ = ("found", "raw", "text")

    def __init__(self, text: bytes, raw: frozenset[str]) -> None:
        self.text = text
        self.raw = raw
        self.found: list[tuple[str, int, int]] = []  # the raw members: name, start, end

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
                    value[name] = Raw(text[start:at], value[name], [])
                    self.found.append((name, start, at))
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
        alike: Alike | None = None
        for item in value:
            at = _SPACE.match(text, at).end()
            if alike is not None and (behind := self.like(alike, at, item)):
                at = behind
            elif type(item) in (dict, list):
                start, found = at, len(self.found)
                at = self.value(at, item, depth)
                alike = self.around(start, at, item, self.found[found:])
            else:
                at = _SCALAR.match(text, at).end()
        end: int = _END_OF_ARRAY.match(text, at).end()
        return end

    def around(
        self, at: int, end: int, item: Any, found: list[tuple[str, int, int]]
    ) -> Alike | None:
        """What stands around the one raw member of an item, where it has one and is an object."""
        if len(found) != 1 or type(item) is not dict or type(item.get(found[0][0])) is not Raw:
            return None
        name, start, stop = found[0]
        return self.text[at:start], name, self.text[stop:end], item[name]

    def like(self, alike: Alike, at: int, item: Any) -> int:
        """To behind an item that differs from the one before in its raw member alone; 0 else.

        What is written alike has been walked already.
        """
        text, (before, name, behind, first) = self.text, alike
        start = at + len(before)
        if not text.startswith(before, at) or text[start] != 0x7B:
            return 0
        stop = self.skip(start)
        if not text.startswith(behind, stop):
            return 0
        item[name] = Raw(text[start:stop], item[name], [])
        first.more.append(item[name])
        return stop + len(behind)

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
            raise NoObject(
                f"The body is nested deeper than {DEEPEST} levels, which is not read here: make it "
                "flatter, or put what lies deeper into a string."
            )
        return nested.end()
