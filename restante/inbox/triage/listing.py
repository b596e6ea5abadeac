"""Quarantine as it is read: by kinds of failure, and event by event, the latest first."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import orjson
from sqlalchemy import Select, and_, bindparam, func, literal, or_, select
from sqlalchemy.orm import Session

from restante.errors import NotFound
from restante.identity.administrators import Administrator
from restante.identity.roles import Right
from restante.inbox import failures, locate
from restante.inbox.envelope import event_json, instant
from restante.inbox.lifecycle import Gate
from restante.inbox.rules import PAGE_BYTES
from restante.inbox.triage.selection import Filter
from restante.storage import page_token
from restante.storage.ids import Prefix, encode_id
from restante.storage.tables.events import agent_inbox, event_content
from restante.storage.tables.failures import event_failure

GROUPS = 100
LOOKED_AT = 50_000
"""Kinds of failure are those of so many events, the latest: however large a quarantine is."""
COUNTED = 10_000
"""Counts are exact up to here (contract 3)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Quarantined events that failed alike. `sample_id`: the one made last, which failed like that."""

    failure_signature: str
    count: int
    first_at: datetime
    last_at: datetime
    sample_id: bytes
    type: str
    code: str
    message: str

    @property
    def capped(self) -> bool:
        """Whether there are more than were counted."""
        return self.count > COUNTED


def list_groups(session: Session, administrator: Administrator, chosen: Filter) -> list[Group]:
    """The kinds of failure of the latest LOOKED_AT events in quarantine, the most frequent first.

    At most GROUPS. Counts and first instants are of those events.
    """
    administrator.require(Right.QUARANTINE_READ)
    connection = session.connection()
    latest = latest_failures(administrator, chosen).subquery()
    rows = connection.execute(
        select(
            latest.c.failure_signature,
            func.count().label("events"),
            func.min(latest.c.quarantined_at).label("first_at"),
            func.max(latest.c.quarantined_at).label("last_at"),
            func.max(latest.c.event_id).label("sample_id"),
        )
        .group_by(latest.c.failure_signature)
        .order_by(func.count().desc(), latest.c.failure_signature)
        .limit(GROUPS)
    ).all()
    samples = {
        row.event_id: row
        for row in connection.execute(_SAMPLES, {"events": [row.sample_id for row in rows]})
    }
    groups = []
    for row in rows:
        sample = samples.get(row.sample_id)
        if sample is None:
            continue  # it has left since
        groups.append(
            Group(
                failure_signature=row.failure_signature,
                count=row.events,
                first_at=row.first_at,
                last_at=row.last_at,
                sample_id=sample.event_id,
                type=str(orjson.loads(sample.envelope)["type"]),
                code=sample.code,
                message=sample.message,
            )
        )
    return groups


def latest_failures(administrator: Administrator, chosen: Filter) -> Select[Any]:
    """Signature, instant and id of the LOOKED_AT events that came last."""
    return (
        select(
            event_failure.c.failure_signature,
            event_failure.c.quarantined_at,
            event_failure.c.event_id,
        )
        .where(_lies(administrator.tenant_id), *chosen.conditions())
        .order_by(event_failure.c.quarantined_at.desc())
        .limit(LOOKED_AT)
    )


def count_quarantined(session: Session, administrator: Administrator) -> int:
    """How many events lie in the tenant's quarantine; COUNTED + 1: more than COUNTED."""
    administrator.require(Right.QUARANTINE_READ)
    some = (
        select(literal(1).label("one"))
        .where(_lies(administrator.tenant_id))
        .limit(COUNTED + 1)
        .subquery()
    )
    counted: int = session.connection().execute(select(func.count()).select_from(some)).scalar_one()
    return counted


def count_of_cause(session: Session, administrator: Administrator, failure_signature: str) -> int:
    """How many of a kind lie there; COUNTED + 1: more than COUNTED."""
    administrator.require(Right.QUARANTINE_READ)
    some = (
        select(literal(1).label("one"))
        .where(
            _lies(administrator.tenant_id), event_failure.c.failure_signature == failure_signature
        )
        .limit(COUNTED + 1)
        .subquery()
    )
    counted: int = session.connection().execute(select(func.count()).select_from(some)).scalar_one()
    return counted


def list_quarantined(
    session: Session,
    administrator: Administrator,
    chosen: Filter,
    *,
    limit: int,
    token: str | None = None,
) -> tuple[list[bytes], str | None]:
    """Events as JSON objects, the latest in quarantine first → (events, next page token).

    Raises PageTokenInvalid.
    """
    administrator.require(Right.QUARANTINE_READ)
    # "the last hour" begins later on the next page, which is the same list
    of = ("quarantine", administrator.tenant_id.hex(), repr(replace(chosen, since=None)))
    place = page_token.take(session, of, token)
    query = (
        select(event_failure.c.event_id, event_failure.c.quarantined_at)
        .where(_lies(administrator.tenant_id), *chosen.conditions())
        .order_by(event_failure.c.quarantined_at.desc(), event_failure.c.event_id.desc())
        .limit(limit + 1)
    )
    if place is not None:
        at, event_id = datetime.fromisoformat(place[0]), bytes.fromhex(place[1])
        query = query.where(
            event_failure.c.quarantined_at <= at,
            or_(
                event_failure.c.quarantined_at < at,
                and_(event_failure.c.quarantined_at == at, event_failure.c.event_id < event_id),
            ),
        )
    rows = session.connection().execute(query).all()
    told: list[bytes] = []
    size = 0
    for n, row in enumerate(rows[:limit]):
        try:
            found = locate.by_event_id(session, row.event_id)
        except NotFound:
            continue
        if found.gate is not Gate.QUARANTINED:
            continue  # it has left since
        size += len(found.row.payload or b"")
        if told and size > PAGE_BYTES:
            return told, _token(session, of, rows[n - 1])
        told.append(_quarantined_json(session, found, row.quarantined_at))
    return told, _token(session, of, rows[limit - 1]) if len(rows) > limit else None


def _lies(tenant_id: bytes) -> Any:
    return and_(event_failure.c.tenant_id == tenant_id, event_failure.c.quarantined_at.is_not(None))


def _token(session: Session, of: tuple[str, ...], row: Any) -> str:
    return page_token.give(session, of, [row.quarantined_at.isoformat(), row.event_id.hex()])


def _quarantined_json(session: Session, found: locate.Located, at: datetime) -> bytes:
    """The event with its payload, whose it is and how it failed."""
    failed = failures.last_error(session, found.event_id)
    beyond = {
        "recipient_id": encode_id(Prefix.AGENT, found.recipient_id),
        "quarantined_at": instant(at),
        "last_error": failed.error,
        "failure_signature": failed.signature,
    }
    return event_json(
        found.row,
        found.row.envelope,
        found.row.payload,
        status=Gate.QUARANTINED,
        more=b"," + orjson.dumps(beyond)[1:-1],
    )


_SAMPLES = (
    select(
        event_failure.c.event_id,
        event_failure.c.code,
        event_failure.c.message,
        event_content.c.envelope,
    )
    .join(agent_inbox, agent_inbox.c.event_id == event_failure.c.event_id)
    .join(
        event_content,
        (event_content.c.recipient_id == agent_inbox.c.recipient_id)
        & (event_content.c.sequence_number == agent_inbox.c.sequence_number),
    )
    .where(event_failure.c.event_id.in_(bindparam("events", expanding=True)))
)
