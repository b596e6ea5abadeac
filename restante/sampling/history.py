"""The figures of tenants over time: a row a minute for a day, a row a half hour for a month.

Each process adds its counts, the sampler writes how it stands; both into the slots of the moment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Table, bindparam, select
from sqlalchemy.dialects import mysql, sqlite
from sqlalchemy.orm import Session

from restante.sampling.tally import Counts
from restante.storage.clock import database_now
from restante.storage.tables.inboxes import inbox
from restante.storage.tables.operation import DELIVERED_CLASSES, tenant_history

MINUTE, HALF_HOUR = 60, 1_800
KEPT = {MINUTE: timedelta(hours=25), HALF_HOUR: timedelta(days=31)}
"""By length of a slot in seconds: at most 1,500 rows a tenant of each."""
ROWS = 200
_EPOCH = datetime(1970, 1, 1)
_DELIVERED = [f"delivered_{number}" for number in range(DELIVERED_CLASSES)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A tenant at the instant of a sample. `arrived`: events that ever came into its inboxes."""

    pending: int
    oldest_pending_seconds: float
    claimed: int
    quarantined: int
    arrived: int

    @property
    def waits(self) -> timedelta:
        """How long its first pending event has waited."""
        return timedelta(seconds=self.oldest_pending_seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """A stretch of time; `standing` is None where no sample fell into it."""

    at: datetime
    standing: Standing | None
    counts: Counts


def tenants_of(session: Session, recipient_ids: Sequence[bytes]) -> dict[bytes, bytes]:
    """Whose inboxes they are."""
    rows = session.connection().execute(_TENANTS, {"recipients": list(recipient_ids)})
    return {row.recipient_id: row.tenant_id for row in rows}


def add_counts(session: Session, counts: Mapping[bytes, Counts]) -> None:
    """Add to the present slots of tenants."""
    rows = [
        {
            "tenant_id": tenant_id,
            "lease_expirations": some.lease_expirations,
            "quarantinings": some.quarantinings,
            **dict(zip(_DELIVERED, some.delivered, strict=True)),
        }
        for tenant_id, some in sorted(counts.items())
    ]
    names = ["lease_expirations", "quarantinings", *_DELIVERED]
    _write(session, rows, added=names)


def write_standings(
    session: Session, standings: Mapping[bytes, Standing], at: datetime | None = None
) -> None:
    """Say how tenants stand, in the present slots, or those of the instant of a sample."""
    rows = [
        {
            "tenant_id": tenant_id,
            "pending": one.pending,
            "oldest_pending_seconds": one.oldest_pending_seconds,
            "claimed": one.claimed,
            "quarantined": one.quarantined,
            "arrived": one.arrived,
        }
        for tenant_id, one in sorted(standings.items())
    ]
    names = ["pending", "oldest_pending_seconds", "claimed", "quarantined", "arrived"]
    _write(session, rows, said=names, at=at)


def read_history(
    session: Session, tenant_id: bytes, *, span_seconds: int, since: datetime
) -> list[Slot]:
    """The tenant's slots of that length from then on, the oldest first; what nobody wrote is not there."""
    rows = session.connection().execute(
        select(tenant_history)
        .where(
            tenant_history.c.tenant_id == tenant_id,
            tenant_history.c.span_seconds == span_seconds,
            tenant_history.c.slot_at >= since,
        )
        .order_by(tenant_history.c.slot_at)
    )
    return [_slot(row) for row in rows]


def slot_of(at: datetime, span_seconds: int) -> datetime:
    """When the slot began that an instant falls into."""
    span = timedelta(seconds=span_seconds)
    return at - (at - _EPOCH) % span


def _slot(row: Any) -> Slot:
    standing = None
    if row.pending is not None:
        standing = Standing(
            pending=row.pending,
            oldest_pending_seconds=row.oldest_pending_seconds,
            claimed=row.claimed,
            quarantined=row.quarantined,
            arrived=row.arrived,
        )
    delivered = [getattr(row, name) for name in _DELIVERED]
    return Slot(
        at=row.slot_at,
        standing=standing,
        counts=Counts(row.lease_expirations, row.quarantinings, delivered),
    )


def _write(
    session: Session,
    rows: list[dict[str, Any]],
    *,
    added: Sequence[str] = (),
    said: Sequence[str] = (),
    at: datetime | None = None,
) -> None:
    now = at or database_now(session)
    for span_seconds, kept in KEPT.items():
        slot = slot_of(now, span_seconds)
        of_slot = {"span_seconds": span_seconds, "slot_at": slot, "keep_until": slot + kept}
        for start in range(0, len(rows), ROWS):
            values = [row | of_slot for row in rows[start : start + ROWS]]
            upsert(session, tenant_history, values, added=added, said=said)


def upsert(
    session: Session,
    table: Table,
    rows: list[dict[str, Any]],
    *,
    added: Sequence[str] = (),
    said: Sequence[str] = (),
) -> None:
    """Write rows by their primary key: where it is there, add to some columns and set others."""
    connection, kept = session.connection(), table.c
    if connection.dialect.name == "sqlite":
        statement = sqlite.insert(table).values(rows)
        new: Any = statement.excluded
        changes = {name: kept[name] + new[name] for name in added} | {n: new[n] for n in said}
        keys = [column.name for column in table.primary_key]
        connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=changes))
        return
    insert = mysql.insert(table).values(rows)
    new = insert.inserted
    changes = {name: kept[name] + new[name] for name in added} | {n: new[n] for n in said}
    connection.execute(insert.on_duplicate_key_update(changes))


_TENANTS = select(inbox.c.recipient_id, inbox.c.tenant_id).where(
    inbox.c.recipient_id.in_(bindparam("recipients", expanding=True))
)
