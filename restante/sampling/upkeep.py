"""How the installation is: its processes, what maintenance still has to do and since when, its database.

For the platform's operators; nothing here is a tenant's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Table, func, select
from sqlalchemy.orm import Session

from restante.identity.operators import Operator
from restante.identity.roles import Right, require
from restante.inbox.timers import oldest_due
from restante.sampling.samples import ALL, Measure
from restante.signals.registry import GONE_AFTER
from restante.storage.clock import database_now
from restante.storage.probe import Server, examine_through
from restante.storage.schema import revision_through
from restante.storage.tables.assignments import assignment
from restante.storage.tables.callbacks import callback
from restante.storage.tables.operation import sample
from restante.storage.tables.signals import node, open_stream
from restante.storage.tables.triage import triage_job


@dataclass(frozen=True, slots=True)
class Node:
    """A process that serves streams."""

    node_id: str
    seen_at: datetime
    streams: int
    gone: bool


@dataclass(frozen=True, slots=True)
class Upkeep:
    """`due`: (what, since when the oldest of it is due; None: nothing is), `sampled_at`: the last sample."""

    nodes: Sequence[Node]
    due: Sequence[tuple[str, datetime | None]]
    sampled_at: datetime | None


def upkeep(session: Session, operator: Operator) -> Upkeep:
    """As it is now. Raises RightMissing."""
    require(operator.role, Right.TENANTS_READ)
    connection, now = session.connection(), database_now(session)
    nodes = connection.execute(
        select(node.c.node_id, node.c.seen_at, func.count(open_stream.c.stream_id).label("streams"))
        .outerjoin(open_stream, open_stream.c.node_id == node.c.node_id)
        .group_by(node.c.node_id, node.c.seen_at)
        .order_by(node.c.seen_at.desc())
    )
    sampled_at = connection.execute(
        select(sample.c.sampled_at)
        .where(sample.c.scope == ALL, sample.c.measure == Measure.PENDING)
        .order_by(sample.c.sampled_at.desc())
        .limit(1)
    ).scalar()
    return Upkeep(
        [
            Node(row.node_id.hex(), row.seen_at, row.streams, row.seen_at < now - GONE_AFTER)
            for row in nodes
        ],
        [
            ("Leases, delays, expiries and scheduled events", oldest_due(session)),
            ("Redrives, amendments and discards", _oldest(session, triage_job, now)),
            ("Assignments that nobody reads", _oldest(session, assignment, now)),
            ("Webhooks", _oldest(session, callback, now)),
        ],
        sampled_at,
    )


def database_report(session: Session, operator: Operator) -> tuple[Server, str | None]:
    """The database server with what is found of it, and the revision of its schema. RightMissing."""
    require(operator.role, Right.TENANTS_READ)
    connection = session.connection()
    return examine_through(connection), revision_through(connection)


def _oldest(session: Session, table: Table, now: datetime) -> datetime | None:
    asked = select(table.c.due_at).where(table.c.due_at <= now).order_by(table.c.due_at).limit(1)
    found: datetime | None = session.connection().execute(asked).scalar()
    return found
