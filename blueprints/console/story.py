"""The timeline of an event in sentences: what happened, the gap before it, and what it waits for now."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import groupby, pairwise
from typing import Any

from restante.inbox.inspection import Inspected
from restante.inbox.lifecycle import Status

_CORRECTED = re.compile(r"corrected by (evt_[0-9a-f]{32}): ")
_SAID = {
    "claimed": ("lease", "Claimed within a trace"),
    "lease_expired": ("lease", "Lease ended, nobody settled it"),
    "released": ("failed", "Given back"),
    "rejected": ("failed", "Rejected by its agent"),
    "quarantined": ("quarantined", "Quarantined"),
    "redriven": ("back", "Put back"),
    "discarded": ("cancelled", "Discarded"),
    "cancel_requested": ("cancelled", "Asked to cancel"),
    "cancelled": ("cancelled", "Cancelled"),
    "expired": ("expired", "Expired"),
    "delivery_failed": ("failed", "Delivery failed"),
}
REASONS = {
    "attempts_exhausted": "attempts used up",
    "release_loop": "given back too often in a row",
    "rejected": "rejected by its agent",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """`at` is None for the present; `gap`: since the entry before. `quoted`: the text of others.

    `each`: where several like it follow one another and are told as one, all of them.
    """

    icon: str
    title: str
    at: datetime | None
    gap: timedelta | None = None
    generation: int | None = None
    who: str | None = None
    quoted: str | None = None
    link: str | None = None
    each: tuple[Entry, ...] = ()

    @property
    def generations(self) -> str:
        """The first one's, and the last one's of several."""
        first = self.generation
        last = self.each[-1].generation if self.each else first
        return f"{first}\N{EN DASH}{last}" if last != first else str(first or "")


def story(event: Inspected, now: datetime) -> list[Entry]:
    """Oldest first, the present last where the event still waits for something."""
    told = sorted(_entries(event), key=lambda entry: entry.at or now)
    if waits := _present(event):
        told.append(Entry(icon="now", title=waits, at=None))
    gaps = [None, *((b.at or now) - (a.at or now) for a, b in pairwise(told))]
    timed = [replace(entry, gap=gap) for entry, gap in zip(told, gaps, strict=True)]
    folded = [_folded(list(alike)) for _, alike in groupby(timed, key=_likeness)]
    return _with_last_error(folded, event.last_error)


def _with_last_error(told: list[Entry], error: Mapping[str, Any] | None) -> list[Entry]:
    """The message of the last failure is kept: it stands with the last that failed like that."""
    for place in range(len(told) - 1, -1, -1):
        if error is not None and told[place].title.lower().endswith(
            f"attempt failed: {error['code']}".lower()
        ):
            told[place] = replace(told[place], quoted=error["message"])
            break
    return told


def _likeness(entry: Entry) -> object:
    """Failures that say the same are told as one; anything else is like nothing else."""
    if entry.icon not in ("failed", "lease"):
        return id(entry)
    return entry.title, entry.quoted


def _folded(alike: list[Entry]) -> Entry:
    first, several = alike[0], len(alike)
    if several == 1:
        return first
    title = f"{several} times: {first.title[0].lower()}{first.title[1:]}"
    who = first.who if len({entry.who for entry in alike}) == 1 else None
    return replace(first, title=title, who=who, each=tuple(alike))


def corrected_by(event: Inspected) -> str | None:
    """The event that took the place of one that was amended."""
    for entry in event.timeline:
        found = _CORRECTED.match(entry["reason"] or "")
        if entry["kind"] == "discarded" and found:
            return found[1]
    return None


def _entries(event: Inspected) -> Iterator[Entry]:
    producer = event.envelope["producer"]
    yield Entry(
        icon="publish",
        title="Published",
        at=event.created_at,
        who=producer.get("name") or producer.get("id"),
    )
    if event.available_at - event.created_at > timedelta(seconds=1):
        yield Entry(icon="scheduled", title="Due", at=event.available_at)
    if event.first_claimed_at is not None:
        yield Entry(icon="claimed", title="Claimed for the first time", at=event.first_claimed_at)
    for one in event.timeline:
        icon, title = _SAID.get(one["kind"], ("now", one["kind"]))
        reason = one["reason"]
        if one["kind"] == "quarantined" and reason in REASONS:
            title, reason = f"{title}: {REASONS[reason]}", None
        if one["kind"] == "released" and reason:
            icon, title, reason = "failed", f"Attempt failed: {reason}", None
        elif one["kind"] == "released":
            icon = "back"
        corrected = _CORRECTED.match(reason or "")
        yield Entry(
            icon=icon,
            title=title,
            at=datetime.fromisoformat(one["at"].removesuffix("Z")),
            generation=one["generation"] or None,
            who=one.get("actor") or one["consumer"],
            quoted=reason,
            link=corrected[1] if corrected and one["kind"] == "discarded" else None,
        )
    if event.status is Status.COMPLETED and event.final_at is not None:
        yield Entry(icon="completed", title="Completed", at=event.final_at)
    ends = {entry["kind"] for entry in event.timeline}
    if event.status is Status.EXPIRED and "expired" not in ends:
        at = event.final_at or event.expires_at
        yield Entry(icon="expired", title="Expired before it was started", at=at)


def _present(event: Inspected) -> str | None:
    match event.status:
        case Status.QUARANTINED:
            return "Waits here until someone redrives or discards it"
        case Status.PENDING:
            return "Waits for its agent"
        case Status.CLAIMED:
            return "Its agent works on it"
        case Status.SCHEDULED:
            return "Not due yet"
    return None
