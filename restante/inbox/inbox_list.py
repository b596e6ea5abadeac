"""An inbox as the operators of its tenant see it: how much is in it. Counts stop at 10,000."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Integer, Select, bindparam, func, literal, select
from sqlalchemy.orm import Session

from restante.identity.administrators import Administrator
from restante.identity.machine_list import Machine, read_machine
from restante.identity.principal import PrincipalKind
from restante.identity.roles import Right
from restante.inbox.lifecycle import PENDING_GATES, Gate, Status
from restante.inbox.polling import STREAM_ALIVE
from restante.inbox.reachability import is_called
from restante.sampling.inbox_history import fresh_depths
from restante.storage.clock import database_now
from restante.storage.tables.events import agent_inbox, scheduled_event
from restante.storage.tables.identity import project
from restante.storage.tables.inboxes import inbox, presence
from restante.storage.tables.signals import node, open_stream

MOST = 10_000
LIVE = 100
"""So many of a state are counted. What an inbox has more of the last sample tells, where there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxLine:
    """An agent with what is in its inbox. `counts`: of the states that are not final, at most MOST + 1.

    From LIVE on, a count may be some seconds old. `called`: a callback of the agent's is active.
    """

    agent: Machine
    streams: int
    called: bool
    counts: Mapping[Status, int]
    oldest_pending_at: datetime | None
    head: int
    oldest_cursor: int
    read_cursor: int | None


def read_inbox(session: Session, administrator: Administrator, public_id: str) -> InboxLine:
    """One agent's. Raises NotFound."""
    administrator.require(Right.EVENTS_READ)
    agent = read_machine(session, administrator, PrincipalKind.AGENT, public_id)
    now = database_now(session)
    return line_of(
        session, agent, now, fresh_depths(session, administrator.tenant_id, [agent.id], now)
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
        called=bool(row.called),
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
        is_called(bindparam("recipient")).label("called"),
    )
    .select_from(inbox.outerjoin(presence, presence.c.recipient_id == inbox.c.recipient_id))
    .where(inbox.c.recipient_id == bindparam("recipient"))
)
