"""How many events of each kind of failure came into quarantine, hour by hour of the last day."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from sqlalchemy import String, cast, func, select
from sqlalchemy.orm import Session

from restante.identity.administrators import Administrator
from restante.identity.roles import Right
from restante.inbox.triage.listing import latest_failures
from restante.inbox.triage.selection import Filter
from restante.storage.clock import database_now

HOURS = 24
_TO_THE_HOUR = len("2026-11-30 12")


def trends(
    session: Session, administrator: Administrator, chosen: Filter
) -> Mapping[str, Sequence[int]]:
    """{failure_signature: the oldest hour's first, the present one's last}, of the same events as groups."""
    administrator.require(Right.QUARANTINE_READ)
    now = database_now(session)
    hours = [now - timedelta(hours=ago) for ago in reversed(range(HOURS))]
    begins = hours[0].replace(minute=0, second=0, microsecond=0)
    since = begins if chosen.since is None else max(begins, chosen.since)
    latest = latest_failures(administrator, replace(chosen, since=since)).subquery()
    hour = func.substr(cast(latest.c.quarantined_at, String(32)), 1, _TO_THE_HOUR)
    rows = session.connection().execute(
        select(
            latest.c.failure_signature, hour.label("hour"), func.count().label("events")
        ).group_by(latest.c.failure_signature, hour)
    )
    told: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for row in rows:
        told[row.failure_signature][row.hour] = row.events
    return {signature: [of.get(_named(at), 0) for at in hours] for signature, of in told.items()}


def _named(at: datetime) -> str:
    return at.isoformat(" ")[:_TO_THE_HOUR]
