"""Quarantine as it is read: how much there is, and event by event, the latest first."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import orjson
from sqlalchemy import and_, func, literal, or_, select
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
from restante.storage.tables.failures import event_failure

COUNTED = 10_000
"""Counts are exact up to here (contract 3)."""
COUNTED_BY_CAUSE = "restante.tx.counted_by_cause"
"""What one look at the quarantine has counted, no other one of the same transaction counts again."""


def count_quarantined(
    session: Session, administrator: Administrator, *, most: int = COUNTED
) -> int:
    """How many events lie in the tenant's quarantine; most + 1: more than `most`."""
    administrator.require(Right.QUARANTINE_READ)
    some = (
        select(literal(1).label("one"))
        .select_from(event_failure)
        .with_hint(event_failure, Filter().by_time(), "mysql")
        .where(_lies(administrator.tenant_id))
        .limit(most + 1)
        .subquery()
    )
    counted: int = session.connection().execute(select(func.count()).select_from(some)).scalar_one()
    return counted


def count_of_cause(
    session: Session,
    administrator: Administrator,
    failure_signature: str,
    *,
    most: int = COUNTED,
) -> int:
    """How many of a kind lie there; most + 1: more than `most`."""
    administrator.require(Right.QUARANTINE_READ)
    known: dict[str, int] = session.info.setdefault(COUNTED_BY_CAUSE, {})
    if failure_signature in known:
        return min(known[failure_signature], most + 1)
    of_cause = Filter(failure_signature=failure_signature)
    some = (
        select(literal(1).label("one"))
        .select_from(event_failure)
        .with_hint(event_failure, of_cause.by_time(), "mysql")
        .where(_lies(administrator.tenant_id), *of_cause.conditions())
        .limit(most + 1)
        .subquery()
    )
    counted: int = session.connection().execute(select(func.count()).select_from(some)).scalar_one()
    if most == COUNTED:
        known[failure_signature] = counted
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
    of = ("quarantined", administrator.tenant_id.hex(), repr(replace(chosen, since=None)))
    place = page_token.take(session, of, token)
    at, kind, id_ = (event_failure.c[name] for name in _PLACE)
    query = (
        select(at, kind, id_)
        .with_hint(event_failure, chosen.by_time(), "mysql")
        .where(_lies(administrator.tenant_id), *chosen.conditions())
        .order_by(at.desc(), kind.desc(), id_.desc())  # as the indexes have them
        .limit(limit + 1)
    )
    if place is not None:
        was, of_kind, event_id = datetime.fromisoformat(place[0]), place[1], bytes.fromhex(place[2])
        further = or_(kind < of_kind, and_(kind == of_kind, id_ < event_id))
        query = query.where(at <= was, or_(at < was, and_(at == was, further)))
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


_PLACE = ("quarantined_at", "failure_signature", "event_id")


def _lies(tenant_id: bytes) -> Any:
    return and_(event_failure.c.tenant_id == tenant_id, event_failure.c.quarantined_at.is_not(None))


def _token(session: Session, of: tuple[str, ...], row: Any) -> str:
    at, kind, event_id = (getattr(row, name) for name in _PLACE)
    return page_token.give(session, of, [at.isoformat(), kind, event_id.hex()])


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
