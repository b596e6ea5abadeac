"""JSON as it travels: compact UTF-8 out, nothing rounded in.

The standard library is used on purpose. orjson turns integers past 64 bits into floats; a payload
that a handler compares or hashes must come through as it was published.
"""

from __future__ import annotations

import json
from typing import Any


def dumps(value: Any) -> bytes:
    """Compact UTF-8 JSON. NaN and infinities are refused (ValueError): they are not JSON."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        return text.encode()
    except UnicodeEncodeError:  # a lone surrogate, legal in JSON only as an escape
        return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()


def loads(text: bytes | str) -> Any:
    """Parse JSON; a ValueError says why not.

    Integers longer than the interpreter's digit limit become floats, so one absurd payload
    does not make a whole page unreadable.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except ValueError:
        return json.loads(text, parse_int=_bounded_int)


def _bounded_int(digits: str) -> int | float:
    return int(digits) if len(digits) <= 4000 else float(digits)
