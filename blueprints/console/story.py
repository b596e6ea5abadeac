"""The timeline of an event in sentences: what happened, the gap before it, and what it waits for now."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise

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
    """`at` is None for the present; `gap`: since the entry before. `quoted`: the text of others."""

    icon: str
    title: str
    at: datetime | None
    gap: timedelta | None = None
    generation: int | None = None
    who: str | None = None
    quoted: str | None = None
    link: str | None = None


def story(event: Inspected, now: datetime) -> list[Entry]:
    """Oldest first, the present last where the event still waits for something."""
    told = sorted(_entries(event), key=lambda entry: entry.at or now)
    if waits := _present(event):
        told.append(Entry(icon="now", title=waits, at=None))
    gaps = [None, *((b.at or now) - (a.at or now) for a, b in pairwise(told))]
    return [replace(entry, gap=gap) for entry, gap in zip(told, gaps, strict=True)]


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
