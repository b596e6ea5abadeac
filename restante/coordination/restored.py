"""After a restored backup: no version and no post's number of the lost time may be given out again.

Every agent's memory goes on far beyond what the lost time can have reached, and forgets nothing:
who asks after a revision of before is told to fetch the state (contract section 8, `db restored`).
Rooms go on as far: who has read posts that are lost would pass over new ones with their numbers.
How far goes by the clock, so that one backup restored twice goes on from two places.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import case, insert, select, update
from sqlalchemy.orm import Session

from restante.inbox.restored import LEAP
from restante.storage.clock import database_now
from restante.storage.tables.inboxes import inbox
from restante.storage.tables.memory import agent_memory, memory_entry
from restante.storage.tables.rooms import room

BATCH = 50
WRITES_PER_SECOND = 1_024
"""More than any agent's memory or room is, so that the line is never reached; it stays below 2^53."""


def restore_memory(session: Session, after: bytes) -> bytes | None:
    """Move the memory of the next agents by id on → the last of them (None: no more).

    Also of agents that have none in the backup: in the lost time they may have had. Repeating it is
    safe: it leaps once more.
    """
    connection, least = session.connection(), _least(session)
    agents = connection.execute(
        select(inbox.c.recipient_id, inbox.c.tenant_id)
        .where(inbox.c.recipient_id > after)
        .order_by(inbox.c.recipient_id)
        .limit(BATCH)
    ).all()
    for agent in agents:
        at = connection.execute(
            select(agent_memory.c.memory_revision)
            .where(agent_memory.c.agent_id == agent.recipient_id)
            .with_for_update()
        ).scalar()
        if at is None:
            row = {"agent_id": agent.recipient_id, "tenant_id": agent.tenant_id}
            told = {"memory_revision": least, "oldest_revision": least}
            connection.execute(insert(agent_memory), row | told)
            continue
        # a clock that was far ahead and is not any more must not lead back
        leap = least - at if least > at else LEAP
        connection.execute(
            update(agent_memory)
            .where(agent_memory.c.agent_id == agent.recipient_id)
            .values(memory_revision=at + leap, oldest_revision=at + leap)
        )
        connection.execute(
            update(memory_entry)
            .where(memory_entry.c.agent_id == agent.recipient_id)
            .values(revision=memory_entry.c.revision + leap)
        )
    return agents[-1].recipient_id if agents else None


def restore_rooms(session: Session) -> None:
    """Have the posts of all rooms numbered on from there. Repeating it is safe: it leaps once more."""
    least = _least(session)
    leapt = case((room.c.last_number < least, least), else_=room.c.last_number + LEAP)
    session.connection().execute(update(room).values(last_number=leapt))


def _least(session: Session) -> int:
    seconds = (database_now(session) - datetime(1970, 1, 1)) // timedelta(seconds=1)
    return seconds * WRITES_PER_SECOND
