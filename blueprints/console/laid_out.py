"""JSON as a person reads it: set in lines, every name, text and number as it was received. Pure."""

from __future__ import annotations

import re

MOST = 64 * 1024
"""Bytes that a page shows; what is longer is cut, and had as a file."""
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s\[\]{},:"]+')


def laid_out(payload: bytes, most: int | None = MOST) -> str:
    """Indented by two spaces; longer than `most`: the beginning, as it stands.

    What is no UTF-8 is shown as hexadecimal escapes.
    """
    if most is not None and len(payload) > most:
        return payload[:most].decode("utf-8", "backslashreplace")
    text = payload.decode("utf-8", "backslashreplace")
    parts: list[str] = []
    depth = 0
    tokens = [found[0] for found in _TOKEN.finditer(text)]
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


def _line(depth: int) -> str:
    return "\n" + "  " * depth
