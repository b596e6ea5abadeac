"""The table of inboxes as its address has it: which ones, by which column, which way round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import urlencode

from werkzeug.datastructures import MultiDict

from blueprints.console.charts import spark
from blueprints.console.narrowing import NONE_LIKE_THAT
from restante.inbox.inbox_narrowing import FULL, Which
from restante.inbox.inbox_table import By
from restante.sampling.inbox_history import SLOTS

WORDS = {
    Which.ACTIVE: "active",
    Which.AWAY: "away",
    Which.AWAY_WITH_MAIL: "away with mail waiting",
    Which.PAUSED: "paused",
    Which.FULL: f"at least {FULL:.0%} full",
    Which.DISABLED: "disabled",
    Which.REMOVED: "removed",
}


class Head(NamedTuple):
    """A column: by what it orders (None: it does not), and whether its figures fall then."""

    title: str
    by: By | None = None
    falls: bool = False
    is_number: bool = True


USUAL = By.PENDING
"""The fullest come first where nobody asks for anything else."""
HEADS = (
    Head("Agent", By.NAME, is_number=False),
    Head("Presence", is_number=False),
    Head("Pending", By.PENDING, falls=True),
    Head("Last 24\N{NO-BREAK SPACE}h", is_number=False),
    Head("Oldest", By.OLDEST, falls=True),
    Head("In flight", By.CLAIMED, falls=True),
    Head("Quarantined", By.QUARANTINED, falls=True),
    Head("Last seen", By.SEEN),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What an address of the table asks for."""

    which: Which | None = None
    begins: str = ""
    by: By = USUAL
    backwards: bool = False
    faults: Mapping[str, str] = field(default_factory=dict)
    """Of the fields that mean nothing, which narrow to nothing at all."""

    @property
    def narrows(self) -> bool:
        """Whether some are left out."""
        return bool(self.which or self.begins or self.faults)

    def address(self, page: str | None = None) -> str:
        """The table's as it is now, or a page of it."""
        return self._address(self.by, self.backwards, page)

    def by_head(self, head: Head) -> str:
        """The table's by that column; the other way round where it is by it already."""
        return self._address(head.by or USUAL, head.by is self.by and not self.backwards)

    def sorts(self, head: Head) -> str | None:
        """`ascending` or `descending`, as its figures are read; None: the table is by another."""
        if head.by is not self.by:
            return None
        return "descending" if head.falls is not self.backwards else "ascending"

    def _address(self, by: By, backwards: bool, page: str | None = None) -> str:  # noqa: FBT001 - a field
        fields = {
            "name": self.begins,
            "state": self.which,
            "sort": "" if by is USUAL else by,
            "order": "back" if backwards else "",
            "page": page,
        }
        said = urlencode({name: text for name, text in fields.items() if text})
        return f"/inboxes?{said}" if said else "/inboxes"


def narrowed_by(asked: MultiDict[str, str]) -> Asked:
    """What stands in an address; an order that is none of ours is the usual one."""
    which = asked.get("state", type=Which)
    return Asked(
        which=which,
        begins=asked.get("name", "").strip()[:190],
        by=asked.get("sort", USUAL, type=By),
        backwards=asked.get("order") == "back",
        faults={"state": NONE_LIKE_THAT} if asked.get("state") and which is None else {},
    )


def trail(pending: Sequence[int | None]) -> tuple[str, str]:
    """A small line of what was pending each half hour of a day, and what it says."""
    known = [number for number in pending if number is not None]
    if not known:
        return "", ""
    hours = SLOTS // 2
    return spark(pending), f"At most {max(known):,} pending in {hours} h, {known[-1]:,} at last"
