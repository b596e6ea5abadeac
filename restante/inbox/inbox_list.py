"""An inbox as the operators of its tenant see it: how much is in it, and what. Counts stop at 10,000."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

import orjson
from sqlalchemy import Integer, Select, and_, bindparam, func, literal, or_, select
from sqlalchemy.orm import Session

from restante.identity.administrators import Administrator
from restante.identity.machine_list import Machine, read_machine
from restante.identity.principal import PrincipalKind
from restante.identity.projects import projects_of
from restante.identity.roles import Right
from restante.inbox.browse import status_gate
from restante.inbox.lifecycle import PENDING_GATES, STATUS_OF, Gate, Status
from restante.inbox.polling import STREAM_ALIVE
from restante.sampling.inbox_history import fresh_depths
from restante.storage import page_token
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, encode_id
from restante.storage.tables.events import agent_inbox, event_content, scheduled_event
from restante.storage.tables.identity import project
from restante.storage.tables.inboxes import inbox, presence
from restante.storage.tables.signals import node, open_stream

MOST = 10_000
LIVE = 100
"""So many of a state are counted. What an inbox has more of the last sample tells, where there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxLine:
    """An agent with what is in its inbox. `counts`: of the states that are not final, at most MOST + 1.

    From LIVE on, a count may be some seconds old.
    """

    agent: Machine
    streams: int
    counts: Mapping[Status, int]
    oldest_pending_at: datetime | None
    head: int
    oldest_cursor: int
    read_cursor: int | None


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


def read_inbox(session: Session, administrator: Administrator, public_id: str) -> InboxLine:
    """One agent's. Raises NotFound."""
    administrator.require(Right.EVENTS_READ)
    agent = read_machine(session, administrator, PrincipalKind.AGENT, public_id)
    now = database_now(session)
    return line_of(
        session, agent, now, fresh_depths(session, administrator.tenant_id, [agent.id], now)
    )


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


def line_of(
    session: Session, agent: Machine, now: datetime, sampled: Mapping[bytes, Any]
) -> InboxLine:
    """What is in the inbox of an agent that was found. `sampled`: by `fresh_depths`."""
    values = {"recipient": agent.id, "alive": now - STREAM_ALIVE, "most": LIVE + 1}
    row = session.connection().execute(_LINE, values).one()
    counts = {status: getattr(row, status) for status in _COUNTED}
    oldest_at = row.oldest_at
    if any(count > LIVE for count in counts.values()):
        lay = sampled.get(agent.id)
        if lay is None:
            values["most"] = MOST + 1
            row = session.connection().execute(_LINE, values).one()
            lay = row
        if counts[Status.PENDING] > LIVE:
            oldest_at = lay.oldest_at
        counts = {
            status: count if count <= LIVE else min(max(count, getattr(lay, status)), MOST + 1)
            for status, count in counts.items()
        }
    return InboxLine(
        agent=agent,
        streams=row.streams,
        counts=counts,
        oldest_pending_at=oldest_at,
        head=row.head,
        oldest_cursor=row.oldest_cursor,
        read_cursor=row.read_cursor,
    )


_LIMIT = bindparam("most", type_=Integer())
_COUNTED = (Status.SCHEDULED, Status.PENDING, Status.CLAIMED, Status.QUARANTINED)


def _gates(*gates: Gate) -> Select[Any]:
    """At most so many sequence numbers of the recipient's events in these gates, by the claim's index."""
    mine = agent_inbox.alias()
    return (
        select(mine.c.sequence_number)
        .with_hint(mine, "FORCE INDEX (claim)", "mysql")
        .select_from(inbox)
        .join(project, project.c.tenant_id == inbox.c.tenant_id)
        .join(
            mine,
            (mine.c.recipient_id == inbox.c.recipient_id)
            & (mine.c.project_id == project.c.project_id)
            & mine.c.gate.in_([gate.value for gate in gates]),
        )
        .where(inbox.c.recipient_id == bindparam("recipient"))
        .limit(_LIMIT)
    )


_SCHEDULED = (
    select(literal(1).label("one"))
    .where(
        scheduled_event.c.recipient_id == bindparam("recipient"),
        scheduled_event.c.due_at.is_not(None),
    )
    .limit(_LIMIT)
    .subquery()
)
_LOWEST = _gates(*PENDING_GATES).subquery()
_LINE = (
    select(
        inbox.c.head,
        inbox.c.oldest_cursor,
        presence.c.read_cursor,
        select(func.count()).select_from(_SCHEDULED).scalar_subquery().label("scheduled"),
        *(
            select(func.count())
            .select_from(_gates(*gates).subquery())
            .scalar_subquery()
            .label(name)
            for name, gates in (
                ("pending", PENDING_GATES),
                ("claimed", (Gate.CLAIMED,)),
                ("quarantined", (Gate.QUARANTINED,)),
            )
        ),
        select(agent_inbox.c.available_at)
        .where(
            agent_inbox.c.recipient_id == bindparam("recipient"),
            agent_inbox.c.sequence_number
            == select(func.min(_LOWEST.c.sequence_number)).scalar_subquery(),
        )
        .scalar_subquery()
        .label("oldest_at"),
        select(func.count())
        .select_from(open_stream)
        .join(node, node.c.node_id == open_stream.c.node_id)
        .where(
            open_stream.c.recipient_id == bindparam("recipient"),
            node.c.seen_at > bindparam("alive", type_=node.c.seen_at.type),
        )
        .scalar_subquery()
        .label("streams"),
    )
    .select_from(inbox.outerjoin(presence, presence.c.recipient_id == inbox.c.recipient_id))
    .where(inbox.c.recipient_id == bindparam("recipient"))
)
