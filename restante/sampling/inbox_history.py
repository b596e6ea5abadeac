"""How deep inboxes were over the last day: a row a half hour for each that held anything then.

The sampler writes all of a sample before it says how tenants stand: the newest slot in which a tenant
stands (`history.py`) is the one whose rows are whole, and an inbox without a row in it was empty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from restante.sampling.depths import Depth
from restante.sampling.history import HALF_HOUR, MINUTE, Standing, read_history, slot_of, upsert
from restante.storage.clock import database_now
from restante.storage.tables.operation import inbox_history, tenant_history

SLOT = timedelta(seconds=HALF_HOUR)
SLOTS = 48
KEPT = timedelta(hours=25)
FRESH = timedelta(minutes=2)
_SAID = ("pending", "scheduled", "claimed", "quarantined", "oldest_at")


def write_depths(session: Session, at: datetime, depths: Sequence[Depth]) -> int:
    """Say how deep inboxes were at the instant of a sample → how many rows that changed."""
    if not depths:
        return 0
    slot = slot_of(at, HALF_HOUR)
    known = {
        row.recipient_id: tuple(getattr(row, name) for name in _SAID)
        for row in session.connection().execute(
            _IN_SLOT, {"slot": slot, "recipients": [depth.recipient_id for depth in depths]}
        )
    }
    rows = []
    for depth in depths:
        says = {name: value for name, value in asdict(depth).items() if name in _SAID}
        was = known.get(depth.recipient_id)
        if any(says.values()) if was is None else was != tuple(says[name] for name in _SAID):
            of_slot = {"slot_at": slot, "keep_until": slot + KEPT}
            rows.append({"recipient_id": depth.recipient_id, **of_slot, **says})
    if rows:
        upsert(session, inbox_history, rows, said=_SAID)
    return len(rows)


def latest_slot(session: Session, tenant_id: bytes) -> datetime | None:
    """The slot of the newest sample of the tenant's inboxes; None: there is none."""
    found: datetime | None = (
        session.connection().execute(_LATEST, {"tenant": tenant_id}).scalar_one_or_none()
    )
    return found


def fresh_depths(
    session: Session, tenant_id: bytes, recipient_ids: Sequence[bytes], now: datetime
) -> Mapping[bytes, Any]:
    """By inbox of the tenant its row of a sample that is no older than FRESH; none where nobody samples."""
    values = {"tenant": tenant_id, "since": now - FRESH}
    minute = session.connection().execute(_FRESH, values).scalar()
    if minute is None:
        return {}
    slot = slot_of(minute, HALF_HOUR)
    rows = session.connection().execute(_IN_SLOT, {"slot": slot, "recipients": list(recipient_ids)})
    return {row.recipient_id: row for row in rows}


def fresh_standing(session: Session, tenant_id: bytes, now: datetime) -> Standing | None:
    """How the tenant's inboxes stand together, by a sample that is no older than FRESH."""
    slots = read_history(session, tenant_id, span_seconds=MINUTE, since=now - FRESH)
    return next((slot.standing for slot in reversed(slots) if slot.standing is not None), None)


def trails(
    session: Session, tenant_id: bytes, recipient_ids: Sequence[bytes]
) -> Mapping[bytes, Sequence[int | None]]:
    """By inbox of the tenant, how many events were pending in each half hour of a day, the last now.

    None: nobody was there to tell.
    """
    first = slot_of(database_now(session), HALF_HOUR) - (SLOTS - 1) * SLOT
    told = {
        slot.at
        for slot in read_history(session, tenant_id, span_seconds=HALF_HOUR, since=first)
        if slot.standing is not None
    }
    rows = session.connection().execute(_SINCE, {"recipients": list(recipient_ids), "first": first})
    known = {(row.recipient_id, row.slot_at): row.pending for row in rows}
    slots = [first + number * SLOT for number in range(SLOTS)]
    return {
        id_: [known.get((id_, slot), 0 if slot in told else None) for slot in slots]
        for id_ in recipient_ids
    }


_OF = inbox_history.c.recipient_id.in_(bindparam("recipients", expanding=True))
_IN_SLOT = select(inbox_history).where(_OF, inbox_history.c.slot_at == bindparam("slot"))
_SINCE = select(
    inbox_history.c.recipient_id, inbox_history.c.slot_at, inbox_history.c.pending
).where(_OF, inbox_history.c.slot_at >= bindparam("first"))
_FRESH = (
    select(tenant_history.c.slot_at)
    .where(
        tenant_history.c.tenant_id == bindparam("tenant"),
        tenant_history.c.span_seconds == MINUTE,
        tenant_history.c.slot_at > bindparam("since", type_=tenant_history.c.slot_at.type),
        tenant_history.c.pending.is_not(None),
    )
    .order_by(tenant_history.c.slot_at.desc())
    .limit(1)
)
_LATEST = (
    select(tenant_history.c.slot_at)
    .where(
        tenant_history.c.tenant_id == bindparam("tenant"),
        tenant_history.c.span_seconds == HALF_HOUR,
        tenant_history.c.pending.is_not(None),
    )
    .order_by(tenant_history.c.slot_at.desc())
    .limit(1)
)
