"""How many events of each kind of failure came into quarantine, hour by hour of the last day."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Select, String, cast, func, literal, select
from sqlalchemy.orm import Session

from restante.identity.administrators import Administrator
from restante.identity.roles import Right
from restante.inbox.triage.causes import latest_failures
from restante.inbox.triage.selection import Filter
from restante.storage.clock import database_now

HOURS = 24
LOOKED_AT = 1_000
"""Events of all kinds together that a look reads, the latest of each."""
_TO_THE_HOUR = len("2026-11-30 12")


@dataclass(frozen=True, slots=True)
class Trend:
    """`hours`: how many of each, the oldest first and the present one last, as far as was looked.

    `cut`: there are more, in the first of these or before it.
    """

    hours: Sequence[int]
    cut: bool


def trends(
    session: Session, administrator: Administrator, chosen: Filter, kinds: Sequence[str]
) -> Mapping[str, Trend]:
    """{failure_signature: its trend}, of those that had events within the day."""
    administrator.require(Right.QUARANTINE_READ)
    now = database_now(session)
    names = [_named(now - timedelta(hours=ago)) for ago in reversed(range(HOURS))]
    begins = (now - timedelta(hours=HOURS - 1)).replace(minute=0, second=0, microsecond=0)
    since = begins if chosen.since is None else max(begins, chosen.since)
    looks = [replace(chosen, since=since)]
    if not chosen.narrows:  # then an index has the events of each kind in order
        looks = [replace(looks[0], failure_signature=kind) for kind in kinds]
    most = LOOKED_AT // max(1, len(looks))
    found: dict[str, Trend] = {}
    for of in looks:
        rows = session.connection().execute(_by_hour(administrator, of, most)).all()
        cut = sum(row.events for row in rows) >= most
        known = names[names.index(min(row.hour for row in rows)) :] if cut else names
        told: defaultdict[str, dict[str, int]] = defaultdict(dict)
        for row in rows:
            told[row.failure_signature][row.hour] = row.events
        for kind, hours in told.items():
            found[kind] = Trend([hours.get(name, 0) for name in known], cut)
    return found


def _by_hour(administrator: Administrator, chosen: Filter, most: int) -> Select[Any]:
    latest = latest_failures(administrator, chosen, most).subquery()
    hour = func.substr(cast(latest.c.quarantined_at, String(32)), 1, literal(_TO_THE_HOUR))
    kind = latest.c.failure_signature
    return select(kind, hour.label("hour"), func.count().label("events")).group_by(kind, hour)


def _named(at: datetime) -> str:
    return at.isoformat(" ")[:_TO_THE_HOUR]
