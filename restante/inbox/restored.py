"""After a restored backup: no number of the lost time may be given out a second time.

Every inbox begins a new epoch, far beyond what the lost time can have reached, and whoever holds
a cursor, a claim or a fence of it is refused (contract section 8, `db restored`).
"""

from __future__ import annotations

from sqlalchemy import Table, Update, delete, select, update
from sqlalchemy.orm import Session

from restante.inbox.lifecycle import Gate
from restante.storage.clock import database_now
from restante.storage.ids import new_id
from restante.storage.tables.events import agent_inbox
from restante.storage.tables.inboxes import inbox, ordering_key
from restante.storage.tables.signals import node, open_stream, wake

LEAP = 2**20
BATCH = 50


def restore_inboxes(session: Session, after: bytes) -> tuple[bytes | None, int]:
    """Begin new epochs for the next inboxes by id → the last of them (None: no more), and how many.

    Repeating it is safe: it leaps once more.
    """
    recipients = session.connection().execute(
        select(inbox.c.recipient_id)
        .where(inbox.c.recipient_id > after)
        .order_by(inbox.c.recipient_id)
        .limit(BATCH)
        .with_for_update()
    )
    found = recipients.scalars().all()
    for recipient_id in found:
        _restore(session, recipient_id)
    return (found[-1] if found else None), len(found)


def forget_streams(session: Session) -> None:
    """Drop what the backup says about open streams and rings: it was true in another time."""
    for table in (open_stream, node, wake):
        session.connection().execute(delete(table))


def _restore(session: Session, recipient_id: bytes) -> None:
    connection = session.connection()
    head = inbox.c.head + LEAP
    # one column at a time: MySQL would let a later one see what an earlier one was set to
    connection.execute(_of(inbox, recipient_id).values(head=head, epoch=new_id()))
    connection.execute(_of(inbox, recipient_id).values(oldest_cursor=inbox.c.head))
    connection.execute(_of(ordering_key, recipient_id).values(fence=ordering_key.c.fence + LEAP))
    connection.execute(
        _of(agent_inbox, recipient_id)
        .where(agent_inbox.c.gate < Gate.COMPLETED)
        .values(claim_generation=agent_inbox.c.claim_generation + LEAP)
    )
    # its holder is refused by the generation already; the timers then end the lease by their rules
    now = database_now(session)
    connection.execute(
        _of(agent_inbox, recipient_id)
        .where(agent_inbox.c.gate == Gate.CLAIMED)
        .values(claim_expires_at=now, due_at=now)
    )


def _of(table: Table, recipient_id: bytes) -> Update:
    return update(table).where(table.c.recipient_id == recipient_id)
