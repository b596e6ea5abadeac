"""A tenant's history as lines of a chart: so many points, each the sum or the last of what falls into it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from restante.identity.administrators import Administrator
from restante.identity.roles import Right
from restante.sampling.history import HALF_HOUR, MINUTE, Slot, read_history, slot_of
from restante.sampling.tally import CLASSES_MS, Counts
from restante.storage.clock import database_now
from restante.storage.tables.identity import principal
from restante.storage.tables.inboxes import inbox


@dataclass(frozen=True, slots=True)
class Range:
    """How far back, from slots of which length, in steps of how long."""

    words: str
    span_seconds: int
    length: timedelta
    step: timedelta


RANGES = {
    "1h": Range("1 h", MINUTE, timedelta(hours=1), timedelta(minutes=1)),
    "6h": Range("6 h", MINUTE, timedelta(hours=6), timedelta(minutes=5)),
    "24h": Range("24 h", MINUTE, timedelta(hours=24), timedelta(minutes=15)),
    "7d": Range("7 d", HALF_HOUR, timedelta(days=7), timedelta(hours=2)),
    "30d": Range("30 d", HALF_HOUR, timedelta(days=30), timedelta(hours=6)),
}
MOST_ARRIVED = 2**20
"""More at once than this is no mail: a restored database begins its sequences so much higher."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A step: rates are a minute; None: nobody was there to tell."""

    at: datetime
    pending: float | None
    oldest_pending_seconds: float | None
    claimed: float | None
    quarantined: float | None
    arrivals: float | None
    completions: float | None
    quarantinings: int
    lease_expirations: int
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None


def series(session: Session, administrator: Administrator, wanted: Range) -> list[Point]:
    """The tenant's points of a range, the last one unfinished."""
    administrator.require(Right.EVENTS_READ)
    now = database_now(session)
    first = slot_of(now, int(wanted.step.total_seconds())) - wanted.length + wanted.step
    since = first - wanted.step  # what arrived in the first step is told by the one before
    slots = read_history(
        session, administrator.tenant_id, span_seconds=wanted.span_seconds, since=since
    )
    count = wanted.length // wanted.step
    steps: list[list[Slot]] = [[] for _ in range(count)]
    arrived = None
    for slot in slots:
        if slot.at >= first:
            steps[min((slot.at - first) // wanted.step, count - 1)].append(slot)
        elif slot.standing is not None:
            arrived = slot.standing.arrived
    if arrived is None and _began_within(session, administrator.tenant_id, since):
        arrived = 0
    points = []
    for number, some in enumerate(steps):
        at = first + number * wanted.step
        point, arrived = _point(at, some, wanted.step, now, arrived)
        points.append(point)
    return points


def last_hour(session: Session, administrator: Administrator) -> Counts:
    """What happened in the last sixty minutes."""
    administrator.require(Right.EVENTS_READ)
    since = database_now(session) - timedelta(hours=1)
    total = Counts()
    for slot in read_history(session, administrator.tenant_id, span_seconds=MINUTE, since=since):
        total.add(slot.counts)
    return total


def percentile_ms(delivered: Sequence[int], share: float) -> float | None:
    """How long that share of deliveries took at most: the bound of its class; beyond the last, twice that."""
    total = sum(delivered)
    if not total:
        return None
    wanted, passed = share * total, 0
    for number, count in enumerate(delivered):
        if count and passed + count >= wanted:
            return CLASSES_MS[number] if number < len(CLASSES_MS) else 2 * CLASSES_MS[-1]
        passed += count
    raise AssertionError


def _began_within(session: Session, tenant_id: bytes, since: datetime) -> bool:
    """Whether the tenant's first inbox was made since: then all that ever came into one came since."""
    # ids are in the order in which they were made: the lowest is found without reading the others
    lowest = (
        select(inbox.c.recipient_id)
        .where(inbox.c.tenant_id == tenant_id)
        .order_by(inbox.c.recipient_id)
        .limit(1)
        .scalar_subquery()
    )
    first = session.connection().execute(
        select(principal.c.created_at).where(principal.c.principal_id == lowest)
    )
    made_at = first.scalar()
    return made_at is not None and made_at >= since


def _point(
    at: datetime, slots: Sequence[Slot], step: timedelta, now: datetime, before: int | None
) -> tuple[Point, int | None]:
    minutes = min(step, max(now - at, timedelta(minutes=1))) / timedelta(minutes=1)
    counts = Counts()
    for slot in slots:
        counts.add(slot.counts)
    standings = [slot.standing for slot in slots if slot.standing is not None]
    last = standings[-1] if standings else None
    arrived = None if last is None or before is None else last.arrived - before
    if arrived is not None and not 0 <= arrived < MOST_ARRIVED:
        arrived = None
    shares = [percentile_ms(counts.delivered, share) for share in (0.5, 0.95, 0.99)]
    point = Point(
        at=at,
        pending=None if last is None else last.pending,
        oldest_pending_seconds=max((s.oldest_pending_seconds for s in standings), default=None),
        claimed=None if last is None else last.claimed,
        quarantined=None if last is None else last.quarantined,
        arrivals=None if arrived is None else arrived / minutes,
        completions=sum(counts.delivered) / minutes if slots else None,
        quarantinings=counts.quarantinings,
        lease_expirations=counts.lease_expirations,
        p50_ms=shares[0],
        p95_ms=shares[1],
        p99_ms=shares[2],
    )
    return point, before if last is None else last.arrived
