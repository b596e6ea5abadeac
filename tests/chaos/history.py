"""What clients did: every call with its outcome, in JSON lines that outlive a SIGKILL.

A call is a line before it is sent and a line once it is answered. Without the second its outcome is
open, as it is after an answer that leaves it open. Instants are nanoseconds of the machine's
monotonic clock, which all processes share and nobody sets.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any


class Outcome(StrEnum):
    """What its caller knows of a call."""

    OK = "ok"
    REFUSED = "refused"
    AMBIGUOUS = "ambiguous"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call. `asked` and `told`: what was sent and answered, by verb (see client.py)."""

    client: str
    verb: str
    asked: dict[str, Any]
    sent_at: int
    status: int = 0
    told: dict[str, Any]
    answered_at: int | None = None

    @property
    def outcome(self) -> Outcome:
        """Whether it is known to have happened, known not to have, or neither."""
        if 200 <= self.status < 300:
            return Outcome.OK
        unknown = self.status in (0, 500, 502, 504)
        if unknown or (self.status == 503 and self.told.get("type") != "/problems/overloaded"):
            return Outcome.AMBIGUOUS
        return Outcome.REFUSED


class Journal:
    """Appends lines; each is one write, so that a killed process leaves whole lines but the last."""

    def __init__(self, file: Path) -> None:
        self._file = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def write(self, **members: Any) -> None:
        """One line, with the instant."""
        line = json.dumps({"at": time.monotonic_ns(), **members}, separators=(",", ":"))
        os.write(self._file, line.encode() + b"\n")


def read_lines(file: Path) -> Iterator[dict[str, Any]]:
    """What was written, but for a line that was not finished."""
    if file.exists():
        for line in file.read_bytes().splitlines(keepends=True):
            if line.endswith(b"\n"):
                yield json.loads(line)


def calls(lines: Iterable[dict[str, Any]]) -> list[Call]:
    """Pair what was sent with what was answered; ordered by the instant of sending."""
    sent: dict[str, dict[str, Any]] = {}
    answers: dict[str, dict[str, Any]] = {}
    for line in lines:
        (answers if "status" in line else sent)[line["call"]] = line
    paired = [_call(line, answers.get(name)) for name, line in sent.items()]
    return sorted(paired, key=lambda call: call.sent_at)


def _call(sent: dict[str, Any], answer: dict[str, Any] | None) -> Call:
    return Call(
        client=sent["client"],
        verb=sent["verb"],
        asked=sent["asked"],
        sent_at=sent["at"],
        status=answer["status"] if answer else 0,
        told=answer["told"] if answer else {},
        answered_at=answer["at"] if answer else None,
    )
