"""Tombstones go once they are older than retention: first the floor is raised, then the rows go.

Each step is a transaction of its own, under the lock of the agent's memory. A reader looks at the
floor after its rows, so it never takes a deletion that is forgotten for none.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from restante.inbox.rules import rules
from restante.storage.clock import database_now
from restante.storage.tables.memory import agent_memory, memory_entry

BATCH = 1_000


def agents_with_old_tombstones(session: Session, *, limit: int) -> list[bytes]:
    """Agents that `raise_memory_floor` finds something for."""
    rows = session.connection().execute(
        select(memory_entry.c.agent_id)
        .where(memory_entry.c.deleted_at < _old(session))
        .order_by(memory_entry.c.deleted_at)
        .limit(limit)
    )
    return sorted(set(rows.scalars()))


def raise_memory_floor(session: Session, agent_id: bytes) -> int | None:
    """Raise the oldest revision over a batch of old tombstones → the new one, None: there is none."""
    old = _old(session)
    connection = session.connection()
    at = _lock(session, agent_id)
    tombstones = (
        select(memory_entry.c.revision)
        .where(memory_entry.c.agent_id == agent_id, memory_entry.c.deleted_at < old)
        .order_by(memory_entry.c.deleted_at)
        .limit(BATCH)
    )
    new = max(connection.execute(tombstones).scalars(), default=None)
    if new is None:
        return None
    connection.execute(
        update(agent_memory)
        .where(agent_memory.c.agent_id == agent_id)
        .values(oldest_revision=max(new, at.oldest_revision))
    )
    return int(new)


def forget_tombstones(session: Session, agent_id: bytes) -> int:
    """Delete old tombstones at or below the floor → how many."""
    old = _old(session)
    at = _lock(session, agent_id)
    return (
        session.connection()
        .execute(
            delete(memory_entry).where(
                memory_entry.c.agent_id == agent_id,
                memory_entry.c.deleted_at < old,
                memory_entry.c.revision <= at.oldest_revision,
            )
        )
        .rowcount
    )


def _lock(session: Session, agent_id: bytes) -> Any:
    return (
        session.connection()
        .execute(
            select(agent_memory.c.oldest_revision)
            .where(agent_memory.c.agent_id == agent_id)
            .with_for_update()
        )
        .one()
    )


def _old(session: Session) -> datetime:
    return database_now(session) - timedelta(seconds=rules(session).retention_seconds)
