"""The events of an inbox as the operators of its tenant see them: of one state, in the order of claims."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

import orjson
from sqlalchemy import and_, or_, select
from sqlalchemy.orm import Session

from restante.identity.administrators import Administrator
from restante.identity.machine_list import Machine
from restante.identity.projects import projects_of
from restante.identity.roles import Right
from restante.inbox.browse import status_gate
from restante.inbox.lifecycle import STATUS_OF, Gate, Status
from restante.storage import page_token
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, encode_id
from restante.storage.tables.events import agent_inbox, event_content, scheduled_event


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxRow:
    """An event in the list of its inbox. `key`: its ordering key."""

    event_id: str
    sequence_number: int | None
    status: Status
    type: str
    project: str
    producer: str
    priority: int
    key: str | None
    attempts: int
    max_attempts: int
    generation: int
    consumer: str | None
    claimed_at: datetime | None
    claim_expires_at: datetime | None
    available_at: datetime


def list_events(
    session: Session,
    administrator: Administrator,
    agent: Machine,
    status: Status | None,
    *,
    limit: int,
    token: str | None = None,
) -> tuple[list[InboxRow], str | None]:
    """An inbox's events of a state (None: pending, claimed and quarantined), in the order of claims.

    `agent` is of the tenant (`read_inbox`). Scheduled ones go by when they are due. Raises PageTokenInvalid.
    """
    administrator.require(Right.EVENTS_READ)
    of = ("inbox", agent.public_id, status or "")
    place = page_token.take(session, of, token)
    if status is Status.SCHEDULED:
        rows = _scheduled(session, agent.id, place, limit + 1)
    else:
        open_ = {Status.PENDING, Status.CLAIMED, Status.QUARANTINED}
        wanted = open_ if status is None else {status}
        gates = [gate for gate, shown in STATUS_OF.items() if shown in wanted]
        ids = [one.id for one in projects_of(session, administrator.tenant_id).values()]
        parts = [
            _of_gate(session, agent.id, id_, g, place, limit + 1) for id_ in ids for g in gates
        ]
        merged = heapq.merge(*parts, key=lambda row: (row.rank, row.sequence_number))
        rows = list(islice(merged, limit + 1))
    now = database_now(session)
    shown = rows[:limit]
    more = None
    if len(rows) > limit:
        last = shown[-1]
        at = (
            [last.due_at.isoformat(), last.event_id.hex()]
            if status is Status.SCHEDULED
            else [last.rank, last.sequence_number]
        )
        more = page_token.give(session, of, at)
    return [_row(row, now) for row in shown], more


def _of_gate(
    session: Session, recipient_id: bytes, project_id: bytes, gate: Gate, place: Any, limit: int
) -> Sequence[Any]:
    query = (
        select(agent_inbox, event_content.c.envelope)
        .with_hint(agent_inbox, "FORCE INDEX (claim)", "mysql")
        .join(
            event_content,
            (event_content.c.recipient_id == agent_inbox.c.recipient_id)
            & (event_content.c.sequence_number == agent_inbox.c.sequence_number),
        )
        .where(
            agent_inbox.c.recipient_id == recipient_id,
            agent_inbox.c.project_id == project_id,
            agent_inbox.c.gate == gate.value,
        )
        .order_by(agent_inbox.c.rank, agent_inbox.c.sequence_number)
        .limit(limit)
    )
    if place is not None:
        rank, sequence = place
        query = query.where(
            agent_inbox.c.rank >= rank,
            or_(
                agent_inbox.c.rank > rank,
                and_(agent_inbox.c.rank == rank, agent_inbox.c.sequence_number > sequence),
            ),
        )
    return session.connection().execute(query).all()


def _scheduled(session: Session, recipient_id: bytes, place: Any, limit: int) -> Sequence[Any]:
    table = scheduled_event.c
    query = (
        select(scheduled_event)
        .where(table.recipient_id == recipient_id, table.due_at.is_not(None))
        .order_by(table.due_at, table.event_id)
        .limit(limit)
    )
    if place is not None:
        at, event_id = datetime.fromisoformat(place[0]), bytes.fromhex(place[1])
        query = query.where(
            table.due_at >= at,
            or_(table.due_at > at, and_(table.due_at == at, table.event_id > event_id)),
        )
    return session.connection().execute(query).all()


def _row(row: Any, now: datetime) -> InboxRow:
    envelope = orjson.loads(row.envelope)
    status = STATUS_OF[status_gate(row, Gate(row.gate), now)]
    held = status is Status.CLAIMED
    producer = envelope["producer"]
    return InboxRow(
        event_id=encode_id(Prefix.EVENT, row.event_id),
        sequence_number=getattr(row, "sequence_number", None),
        status=status,
        type=envelope["type"],
        project=envelope["project"],
        producer=producer.get("name") or producer.get("id") or producer["kind"],
        priority=-row.rank,
        key=envelope["ordering_key"],
        attempts=getattr(row, "attempts", 0),
        max_attempts=row.max_attempts,
        generation=getattr(row, "claim_generation", 0),
        consumer=row.consumer if held else None,
        claimed_at=row.claimed_at if held else None,
        claim_expires_at=row.claim_expires_at if held else None,
        available_at=row.available_at,
    )
