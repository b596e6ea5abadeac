"""The way of a callback as five stations in a line, each with the side exits that leave from it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from blueprints.console.callback_words import in_words
from blueprints.console.lengths import length
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
class Note:
    """When, by whom: `at` stands between the words, as the reader's clock has it."""

    before: str = ""
    at: datetime | None = None
    after: str = ""


@dataclass(frozen=True, slots=True)
class Station:
    """`title`: the state, or in a side exit that one; `exits`: where else it leads."""

    title: str
    mark: Mark
    note: Note
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
        Note(at=found.created_at, after=", by its agent"),
        Note(at=passed) if passed else Note("not yet"),
        _waits(found, now),
        Note(),
        Note("its mail waits for pull"),
    ]
    again = f"challenged again every {AGAIN_AFTER // HOUR}\N{NO-BREAK SPACE}h"
    if found.status is Status.ACTIVE and found.approved_at:
        notes[3] = Note("since ", found.approved_at, f", {again}")
    elif found.status is Status.SUSPENDED:
        notes[3] = Note("resuming it leads back to active")
    else:
        notes[3] = Note(again)
    titles = ["registered", "challenge passed", "approval", "active", "removed"]
    exits = ["", in_words(Status.CHALLENGE_FAILED), "rejected", "suspended, and back", ""]
    marks = [Mark.DONE] * here + [Mark.TO_COME] * (5 - here)
    marks[here] = Mark.WELL if found.status is Status.ACTIVE else Mark.NOW
    if found.status is not Status.ACTIVE:
        titles[here] = in_words(found.status)
    if found.status in _EXITS:
        marks[here], exits[here] = Mark.EXIT, ""
    return [Station(*of) for of in zip(titles, marks, notes, exits, strict=True)]


def _waits(found: Callback, now: datetime) -> Note:
    match found.status:
        case Status.PENDING_APPROVAL:
            since = now - (found.challenged_at or found.created_at)
            return Note(f"for {length(max(since, timedelta(0)))}, by a tenant admin")
        case Status.REJECTED:
            return Note("its agent may change it, which starts over")
        case Status.CHALLENGE_FAILED:
            return Note("by a tenant admin")
    return Note("approved ", found.approved_at) if found.approved_at else Note()
