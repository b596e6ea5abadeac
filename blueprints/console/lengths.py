"""Lengths of time in words, at most two units: a reader wants 8 min 41 s, and 22 h, but no 22 h 3 s."""

from __future__ import annotations

from datetime import datetime, timedelta

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
_SPACE = "\N{NO-BREAK SPACE}"


def length(span: timedelta) -> str:
    """`8 min 41 s`; `0 s` for less than a second."""
    left = max(0, int(span.total_seconds()))
    for index, (seconds, unit) in enumerate(_UNITS):
        if left < seconds and unit != "s":
            continue
        words = f"{left // seconds}{_SPACE}{unit}"
        if index + 1 < len(_UNITS):
            smaller, name = _UNITS[index + 1]
            rest = left % seconds // smaller
            if rest:
                words += f"{_SPACE}{rest}{_SPACE}{name}"
        return words
    raise AssertionError


def milliseconds(number: int) -> timedelta:
    """So many as a length."""
    return timedelta(milliseconds=number)


def instant(at: datetime) -> str:
    """`30 Nov, 08:14 UTC`."""
    return f"{at.day}{_SPACE}{at:%b}, {at:%H:%M}{_SPACE}UTC"
