"""JSON as a person reads it: set in lines, every name, text and number as it was received. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from restante.inbox.redaction import MARK, TOKEN, parts_of, places

MOST = 64 * 1024
"""Bytes that a page shows; what is longer is cut, and had as a file."""
_POINTER = re.compile(r"(?<![\w/~.-])(?:/[\w~.-]+)+")


@dataclass(frozen=True, slots=True)
class Line:
    """A line as (text, whether it is the rule that stands for a value); `points`: the error names it."""

    parts: tuple[tuple[str, bool], ...]
    points: bool = False


def laid_out(payload: bytes, most: int | None = MOST) -> str:
    """Indented by two spaces; longer than `most`: the beginning, as it stands.

    What is no UTF-8 is shown as hexadecimal escapes.
    """
    if most is not None and len(payload) > most:
        return payload[:most].decode("utf-8", "backslashreplace")
    text = payload.decode("utf-8", "backslashreplace")
    parts: list[str] = []
    depth = 0
    tokens = [found[0] for found in TOKEN.finditer(text)]
    for before, token in zip(["", *tokens], tokens, strict=False):
        if token in "]}":
            depth -= 1
            parts.append(token if before in ("[", "{") else _line(depth) + token)
        elif token in (",", ":"):
            parts.append(token + (" " if token == ":" else ""))
        else:
            parts.append(_line(depth) + token if before in ("[", "{", ",") else token)
            depth += token in "[{"
    return "".join(parts)


def lines(text: str, *, rules: Collection[str] = (), error: str | None = None) -> list[Line]:
    """The lines of what `laid_out` gave; `error`: a message that may name a place in it."""
    at = None if error is None else _line_of(text, error)
    return [
        Line(tuple(_parts(line, rules)), points=number == at)
        for number, line in enumerate(text.split("\n"))
    ]


def _parts(line: str, rules: Collection[str]) -> Iterator[tuple[str, bool]]:
    rest = line
    for rule in rules:
        if f"{MARK}{rule}{MARK}" in rest:
            before, _, after = rest.partition(f"{MARK}{rule}{MARK}")
            yield from ((before, False), (rule, True), (after, False))
            return
    yield rest, False


def _line_of(text: str, error: str) -> int | None:
    """Where the first JSON Pointer of a message that leads somewhere leads to."""
    wanted = [parts_of(found[0]) for found in _POINTER.finditer(error[:2000])][:8]
    if not wanted:
        return None
    for found, path in places(text):
        if path in wanted:
            return text.count("\n", 0, found.start())
    return None


def _line(depth: int) -> str:
    return "\n" + "  " * depth
