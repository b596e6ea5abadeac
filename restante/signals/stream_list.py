"""The streams that an agent has open, as its tenant's operators see them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from restante.identity.administrators import Administrator
from restante.identity.machine_list import Machine
from restante.identity.roles import Right
from restante.inbox.polling import STREAM_ALIVE
from restante.storage.clock import database_now
from restante.storage.tables.signals import node, open_stream

MOST = 50
"""An agent has eight; those of processes that have died may still stand there for a moment."""


@dataclass(frozen=True, slots=True)
class OpenStream:
    """`node`: which process of which host serves it, by a name that says nothing of either."""

    opened_at: datetime
    node: str
    node_seen_at: datetime


def list_streams(session: Session, who: Administrator, agent: Machine) -> list[OpenStream]:
    """Those that are open, oldest first; `agent` is of the tenant. Raises as `Administrator.require`."""
    who.require(Right.EVENTS_READ)
    rows = session.connection().execute(
        select(open_stream.c.opened_at, open_stream.c.node_id, node.c.seen_at)
        .join(node, node.c.node_id == open_stream.c.node_id)
        .where(
            open_stream.c.recipient_id == agent.id,
            node.c.seen_at > database_now(session) - STREAM_ALIVE,
        )
        .order_by(open_stream.c.opened_at)
        .limit(MOST)
    )
    return [OpenStream(row.opened_at, row.node_id.hex()[-8:], row.seen_at) for row in rows]
