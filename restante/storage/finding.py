"""One thing noticed about how the house is set up, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How bad it is."""

    REFUSED = "refused"  # a promise cannot be kept: `serve` does not start
    WARNING = "warning"  # a promise is kept with a reservation
    NOTE = "note"  # it works; it could be better


@dataclass(frozen=True, slots=True)
class Finding:
    """`sentence` says what it is, what it means and what mends it."""

    level: Level
    subject: str
    sentence: str
