"""Open streams as rows, so that every process knows which agents listen and where.

A stream whose process was not seen for half a minute is taken for closed. Whoever finds more than
eight of an agent deletes the rows of the oldest; the process that holds them sees that they are
gone and closes them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import bindparam, delete, func, insert, select, update
from sqlalchemy.orm import Session

from restante.signals.streams import MOST_OF_AN_AGENT
from restante.storage.clock import database_now
from restante.storage.tables.signals import node, open_stream

GONE_AFTER = timedelta(seconds=30)
FORGOTTEN_AFTER = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class Opened:
    """A stream to be registered; it has been open for so long."""

    stream_id: bytes
    recipient_id: bytes
    age_seconds: float


def write_changes(
    session: Session, node_id: bytes, opened: Sequence[Opened], closed: Collection[bytes]
) -> None:
    """Write what was opened and closed since the last time; both may name the same stream."""
    ended = set(closed)
    rows = [o for o in opened if o.stream_id not in ended]
    connection = session.connection()
    if rows:
        now = database_now(session)
        connection.execute(
            insert(open_stream),
            [
                {
                    "stream_id": o.stream_id,
                    "recipient_id": o.recipient_id,
                    "node_id": node_id,
                    "opened_at": now - timedelta(seconds=o.age_seconds),
                }
                for o in rows
            ],
        )
    gone = sorted(ended - {o.stream_id for o in opened})
    if gone:
        connection.execute(_DELETE, {"streams": gone})


def take_surplus(session: Session, recipient_ids: Collection[bytes]) -> list[bytes]:
    """Delete the rows of streams beyond the eighth youngest of each agent; returns their ids."""
    rows = session.connection().execute(_OF_AGENTS, {"recipients": sorted(recipient_ids)}).all()
    counts: dict[bytes, int] = {}
    surplus: list[bytes] = []
    for row in rows:
        counts[row.recipient_id] = counts.get(row.recipient_id, 0) + 1
        if counts[row.recipient_id] > MOST_OF_AN_AGENT:
            surplus.append(row.stream_id)
    if surplus:
        session.connection().execute(_DELETE, {"streams": sorted(surplus)})
    return surplus


def write_all(session: Session, node_id: bytes, streams: Sequence[Opened]) -> None:
    """Write the streams of a process anew, whatever was written of them before."""
    session.connection().execute(delete(open_stream).where(open_stream.c.node_id == node_id))
    write_changes(session, node_id, streams, ())


def is_seen(session: Session, node_id: bytes) -> int | None:
    """Say that this process lives; returns how many streams it has registered.

    None where the process was not known (any longer).
    """
    now = database_now(session)
    connection = session.connection()
    changed = connection.execute(update(node).where(node.c.node_id == node_id).values(seen_at=now))
    if not changed.rowcount:
        connection.execute(insert(node).values(node_id=node_id, seen_at=now))
        return None
    return connection.execute(
        select(func.count()).select_from(open_stream).where(open_stream.c.node_id == node_id)
    ).scalar_one()


def registered(session: Session, node_id: bytes) -> set[bytes]:
    """The streams registered for a process."""
    rows = session.connection().execute(
        select(open_stream.c.stream_id).where(open_stream.c.node_id == node_id)
    )
    return set(rows.scalars())


def leave(session: Session, node_id: bytes) -> None:
    """This process ends: its streams are closed."""
    session.connection().execute(delete(open_stream).where(open_stream.c.node_id == node_id))
    session.connection().execute(delete(node).where(node.c.node_id == node_id))


def count_live_nodes(session: Session) -> int:
    """How many processes serve this database."""
    seen = node.c.seen_at > database_now(session) - GONE_AFTER
    asked = select(func.count()).select_from(node).where(seen)
    return session.connection().execute(asked).scalar_one()


def forget_nodes(session: Session) -> int:
    """Remove processes not seen for a minute, with their streams; returns how many."""
    dead = sorted(
        session.connection()
        .execute(
            select(node.c.node_id)
            .where(node.c.seen_at < database_now(session) - FORGOTTEN_AFTER)
            .limit(100)
        )
        .scalars()
    )
    for node_id in dead:
        leave(session, node_id)
    return len(dead)


_DELETE = delete(open_stream).where(
    open_stream.c.stream_id.in_(bindparam("streams", expanding=True))
)
_OF_AGENTS = (
    select(open_stream.c.stream_id, open_stream.c.recipient_id)
    .where(open_stream.c.recipient_id.in_(bindparam("recipients", expanding=True)))
    .order_by(
        open_stream.c.recipient_id, open_stream.c.opened_at.desc(), open_stream.c.stream_id.desc()
    )
)
