"""The way of a callback as five stations in a line, each with the side exits that leave from it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from blueprints.console.lengths import instant, length
from restante.webhooks.callbacks import Callback
from restante.webhooks.judging import AGAIN_AFTER
from restante.webhooks.states import Status


class Mark(StrEnum):
    """What a station's sign looks like. EXIT: the callback stands in a side exit that leaves from here."""

    DONE = "done"
    NOW = "now"
    WELL = "well"  # now, and nobody has to do anything
    EXIT = "exit"
    TO_COME = "later"


@dataclass(frozen=True, slots=True)
class Station:
    """`title`: the state, or in a side exit that one; `note`: when, by whom; `exits`: where else it leads."""

    title: str
    mark: Mark
    note: str = ""
    exits: str = ""

    @property
    def current(self) -> bool:
        """Whether the callback stands here."""
        return self.mark in (Mark.NOW, Mark.WELL, Mark.EXIT)


HOUR = timedelta(hours=1)
_PLACE = {
    Status.CHALLENGE_FAILED: 1,
    Status.PENDING_APPROVAL: 2,
    Status.REJECTED: 2,
    Status.ACTIVE: 3,
    Status.SUSPENDED: 3,
}
_EXITS = (Status.CHALLENGE_FAILED, Status.REJECTED, Status.SUSPENDED)


def strip(found: Callback, now: datetime) -> list[Station]:
    """The five, with what is known of each."""
    here = _PLACE[found.status]
    passed = found.challenged_at
    notes = [
        f"{instant(found.created_at)}, by its agent",
        instant(passed) if passed else "not yet",
        _waits(found, now),
        instant(found.approved_at) if found.approved_at else "a tenant admin decides",
        "its mail waits for pull",
    ]
    again = f"challenged again every {AGAIN_AFTER // HOUR}\N{NO-BREAK SPACE}h"
    if found.status is Status.ACTIVE and found.approved_at:
        notes[3] = f"since {instant(found.approved_at)}, {again}"
    elif found.status is Status.SUSPENDED:
        notes[3] = "resuming it leads back to active"
    else:
        notes[3] = again
    titles = ["registered", "challenge passed", "pending_approval", "active", "removed"]
    exits = ["", "challenge_failed", "rejected", "suspended, and back", ""]
    marks = [Mark.DONE] * here + [Mark.TO_COME] * (5 - here)
    marks[here] = Mark.WELL if found.status is Status.ACTIVE else Mark.NOW
    if found.status in _EXITS:
        marks[here], titles[here], exits[here] = Mark.EXIT, found.status.value, ""
    return [Station(*of) for of in zip(titles, marks, notes, exits, strict=True)]


def _waits(found: Callback, now: datetime) -> str:
    match found.status:
        case Status.PENDING_APPROVAL:
            since = now - (found.challenged_at or found.created_at)
            return f"for {length(max(since, timedelta(0)))}, by a tenant admin"
        case Status.REJECTED:
            return "its agent may change it, which starts over"
        case Status.CHALLENGE_FAILED:
            return "by a tenant admin"
    return f"approved {instant(found.approved_at)}" if found.approved_at else ""
