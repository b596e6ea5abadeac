"""W3C Trace Context, level 1: which trace something belongs to."""

from __future__ import annotations

import re

_TRACEPARENT = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}"
)


def read_traceparent(text: str | None) -> str | None:
    """The text where it is a traceparent, else None: whoever gets a wrong one begins a trace."""
    return text if text is not None and _TRACEPARENT.fullmatch(text) else None
