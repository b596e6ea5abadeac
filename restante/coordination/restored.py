"""After a restored backup: no version of the lost time may be given out a second time.

Every agent's memory goes on far beyond what the lost time can have reached, and forgets nothing:
who asks after a revision of before is told to fetch the state (contract section 8, `db restored`).
"""

from __future__ import annotations

from sqlalchemy import insert, select, update
from sqlalchemy.orm import Session

from restante.inbox.restored import LEAP
from restante.storage.tables.inboxes import inbox
from restante.storage.tables.memory import agent_memory, memory_entry

BATCH = 50


def restore_memory(session: Session, after: bytes) -> bytes | None:
    """Move the memory of the next agents by id on → the last of them (None: no more).

    Also of agents that have none in the backup: in the lost time they may have had. Repeating it is
    safe: it leaps once more.
    """
    connection = session.connection()
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
            told = {"memory_revision": LEAP, "oldest_revision": LEAP}
            connection.execute(insert(agent_memory), row | told)
            continue
        connection.execute(
            update(agent_memory)
            .where(agent_memory.c.agent_id == agent.recipient_id)
            .values(memory_revision=at + LEAP, oldest_revision=at + LEAP)
        )
        connection.execute(
            update(memory_entry)
            .where(memory_entry.c.agent_id == agent.recipient_id)
            .values(revision=memory_entry.c.revision + LEAP)
        )
    return agents[-1].recipient_id if agents else None
