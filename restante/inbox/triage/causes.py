"""Causes of quarantine: kinds of failure, how many events of each lie there, and since when.

Kinds are found one after another along an index that has the events of a kind together, and each is
counted as far as counts go: however many events there are, a cause that few of them have is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
from sqlalchemy import Select, bindparam, func, literal, select
from sqlalchemy.orm import Session

from restante.identity.administrators import Administrator
from restante.identity.roles import Right
from restante.inbox.triage.listing import COUNTED, COUNTED_BY_CAUSE
from restante.inbox.triage.selection import Filter
from restante.storage.ids import Prefix, encode_id
from restante.storage.tables.events import agent_inbox, event_content
from restante.storage.tables.failures import event_failure

GROUPS = 100
LOOKED_AT = 1_000
"""Where a filter narrows kinds, or there are more than GROUPS: those of so many events, the latest."""
_EVER = (datetime(1970, 1, 1), datetime(9999, 1, 1))
_BY_KIND = "FORCE INDEX (quarantine_of_signature)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Quarantined events that failed alike, counted to `most`. `sample_id`: the one that came last."""

    failure_signature: str
    count: int
    most: int
    first_at: datetime
    last_at: datetime
    sample_id: bytes
    recipient_id: str
    type: str
    code: str
    message: str

    @property
    def capped(self) -> bool:
        """Whether there are more than were counted."""
        return self.count > self.most


def list_groups(
    session: Session, administrator: Administrator, chosen: Filter, *, most: int = COUNTED
) -> list[Group]:
    """The kinds of failure of what the filter means, the most frequent first; at most GROUPS.

    Each counted up to most + 1; of the latest LOOKED_AT events alone where a filter narrows kinds, or
    there are more.
    """
    administrator.require(Right.QUARANTINE_READ)
    connection = session.connection()
    counted = _by_kind(session, administrator, chosen, most)
    if counted is None:
        latest = latest_failures(administrator, chosen, LOOKED_AT).subquery()
        counted = connection.execute(
            select(
                latest.c.failure_signature,
                func.count().label("events"),
                func.min(latest.c.quarantined_at).label("first_at"),
                func.max(latest.c.quarantined_at).label("last_at"),
                func.max(latest.c.event_id).label("sample_id"),
            ).group_by(latest.c.failure_signature)
        ).all()
    lying = sorted(
        (row for row in counted if row.events), key=lambda row: (-row.events, row.failure_signature)
    )[:GROUPS]
    if most == COUNTED and chosen == Filter(failure_signature=chosen.failure_signature):
        known: dict[str, int] = session.info.setdefault(COUNTED_BY_CAUSE, {})
        known.update((row.failure_signature, row.events) for row in lying)
    ids = [row.sample_id for row in lying]
    samples = {row.event_id: row for row in connection.execute(_SAMPLES, {"events": ids})}
    # a sample that is not there has left since
    return [
        Group(
            failure_signature=row.failure_signature,
            count=row.events,
            most=most,
            first_at=row.first_at,
            last_at=row.last_at,
            sample_id=sample.event_id,
            recipient_id=encode_id(Prefix.AGENT, sample.recipient_id),
            type=str(orjson.loads(sample.envelope)["type"]),
            code=sample.code,
            message=sample.message,
        )
        for row in lying
        if (sample := samples.get(row.sample_id)) is not None
    ]


def latest_failures(administrator: Administrator, chosen: Filter, most: int) -> Select[Any]:
    """Signature, instant and id of the events that came last, of those that the filter means."""
    return (
        select(
            event_failure.c.failure_signature,
            event_failure.c.quarantined_at,
            event_failure.c.event_id,
        )
        .with_hint(event_failure, chosen.by_time(), "mysql")
        .where(
            event_failure.c.tenant_id == administrator.tenant_id,
            event_failure.c.quarantined_at.is_not(None),
            *chosen.conditions(),
        )
        .order_by(event_failure.c.quarantined_at.desc())
        .limit(most)
    )


def _by_kind(
    session: Session, administrator: Administrator, chosen: Filter, most: int
) -> Sequence[Any] | None:
    """A row of each kind that ever failed; None where a filter narrows them, or there are too many."""
    if chosen.narrows:
        return None
    connection = session.connection()
    tenant = {"tenant": administrator.tenant_id, "most": most + 1}
    span = {"since": chosen.since or _EVER[0], "until": chosen.until or _EVER[1]}
    kind = chosen.failure_signature
    if kind is not None:
        return connection.execute(_COUNTED, {**tenant, **span, "kind": kind}).all()
    rows: list[Any] = []
    kind = connection.execute(_NEXT, {**tenant, "kind": ""}).scalar()
    while kind is not None and len(rows) < GROUPS:
        row = connection.execute(_COUNTED, {**tenant, **span, "kind": kind}).one()
        rows.append(row)
        kind = row.next_kind
    return rows if kind is None else None


def _of_kind(*columns: Any) -> Select[Any]:
    at = event_failure.c.quarantined_at
    return (
        select(*columns)
        .select_from(event_failure)
        .with_hint(event_failure, _BY_KIND, "mysql")
        .where(
            event_failure.c.tenant_id == bindparam("tenant"),
            event_failure.c.failure_signature == bindparam("kind"),
            at >= bindparam("since", type_=at.type),
            at < bindparam("until", type_=at.type),
        )
    )


_NEXT = (
    select(event_failure.c.failure_signature)
    .with_hint(event_failure, _BY_KIND, "mysql")
    .where(
        event_failure.c.tenant_id == bindparam("tenant"),
        event_failure.c.failure_signature > bindparam("kind"),
    )
    .order_by(event_failure.c.failure_signature)
    .limit(1)
)
_AT = event_failure.c.quarantined_at
_LATEST = (_AT.desc(), event_failure.c.event_id.desc())
_COUNTED = select(
    bindparam("kind").label("failure_signature"),
    select(func.count())
    .select_from(_of_kind(literal(1).label("one")).limit(bindparam("most")).subquery())
    .scalar_subquery()
    .label("events"),
    _of_kind(_AT).order_by(_AT).limit(1).scalar_subquery().label("first_at"),
    _of_kind(_AT).order_by(*_LATEST).limit(1).scalar_subquery().label("last_at"),
    _of_kind(event_failure.c.event_id)
    .order_by(*_LATEST)
    .limit(1)
    .scalar_subquery()
    .label("sample_id"),
    _NEXT.scalar_subquery().label("next_kind"),
)
_SAMPLES = (
    select(
        event_failure.c.event_id,
        event_failure.c.code,
        event_failure.c.message,
        event_failure.c.recipient_id,
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
