"""Timers: lease ends, ends of delays, expiries, scheduled events. Whoever looks first runs them.

Bounded, and held rows are skipped: nothing here waits for a claimer or a settle. Scheduled events
need the inbox row, which is taken before any other lock (the order of storage/transaction.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Table, delete, select, union_all
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from restante.inbox import ending, failures, history, ordering
from restante.inbox.by_key import select_by_place
from restante.inbox.history import Kind
from restante.inbox.lifecycle import Gate
from restante.inbox.place import lock_inboxes, place
from restante.inbox.publication import Arrival
from restante.observations import What, observe
from restante.storage.clock import database_now
from restante.storage.tables.events import agent_inbox, scheduled_event
from restante.storage.transaction import is_held

BATCH = 200
ROUNDS = 10


def run_due(session: Session, recipient_id: bytes, *, nowait: bool = False) -> int:
    """Run the due timers of one inbox → how many events moved.

    `nowait`: leave scheduled events where a publisher holds the inbox; the next look finds them.
    """
    moved = 0
    for _ in range(ROUNDS):
        number = _admit(session, recipient_id, nowait=nowait) + _run(session, recipient_id)
        moved += number
        if number < BATCH:
            break
    return moved


def due_inboxes(session: Session, *, limit: int, after: bytes = b"") -> list[bytes]:
    """Inboxes with something due, by recipient id after `after`; at most `limit`."""
    now = database_now(session)
    found: set[bytes] = set()
    for table in (agent_inbox, scheduled_event):
        found |= _due_in(session, table, now, limit)
    return sorted(r for r in found if r > after)[:limit]


def _due_in(session: Session, table: Table, now: datetime, limit: int) -> set[bytes]:
    """The oldest timers first; past those of inboxes that are known already, where they are many."""
    found: set[bytes] = set()
    for _ in range(ROUNDS):
        due = select(table.c.recipient_id).where(table.c.due_at <= now)
        if found:
            due = due.where(table.c.recipient_id.not_in(sorted(found)))
        rows = session.connection().execute(due.order_by(table.c.due_at).limit(limit * 10)).all()
        found.update(row.recipient_id for row in rows)
        if len(rows) < limit * 10 or len(found) >= limit:
            break
    return found


def oldest_due(session: Session) -> datetime | None:
    """The oldest timer that is due and has not run: the health of the maintenance."""
    now = database_now(session)
    firsts = union_all(
        *(
            select(table.c.due_at)
            .where(table.c.due_at.is_not(None), table.c.due_at <= now)
            .order_by(table.c.due_at)
            .limit(1)
            .subquery()
            .select()
            for table in (agent_inbox, scheduled_event)
        )
    )
    return min(session.connection().execute(firsts).scalars(), default=None)


def _admit(session: Session, recipient_id: bytes, *, nowait: bool) -> int:
    """Give scheduled events that are due their place, by (available_at, event id)."""
    connection = session.connection()
    now = database_now(session)
    due = (
        select(scheduled_event)
        .where(scheduled_event.c.recipient_id == recipient_id, scheduled_event.c.due_at <= now)
        .order_by(scheduled_event.c.due_at, scheduled_event.c.event_id)
        .limit(BATCH)
    )
    if (
        connection.execute(due.with_only_columns(scheduled_event.c.event_id).limit(1)).first()
        is None
    ):
        return 0
    try:
        heads = lock_inboxes(session, [recipient_id], nowait=nowait)
    except OperationalError as error:
        if nowait and is_held(error):
            return 0
        raise
    # under the inbox lock nobody else admits; a cancel may hold one of them, which then waits
    rows = connection.execute(due.with_for_update(skip_locked=True)).all()
    if not rows:
        return 0
    connection.execute(
        delete(scheduled_event).where(scheduled_event.c.event_id.in_([r.event_id for r in rows]))
    )
    arrivals = [
        Arrival(
            event_id=row.event_id,
            recipient_id=row.recipient_id,
            project_id=row.project_id,
            rank=row.rank,
            max_attempts=row.max_attempts,
            key_hash=row.key_hash,
            available_at=row.available_at,
            expires_at=row.expires_at,
            envelope=row.envelope,
            options=row.options,
            payload=row.payload,
        )
        for row in rows
    ]
    place(session, arrivals, {recipient_id: heads[recipient_id].head}, now)
    return len(rows)


def _run(session: Session, recipient_id: bytes) -> int:
    """End leases, delays and waits whose time is over."""
    connection = session.connection()
    now = database_now(session)
    candidates = connection.execute(
        select(
            agent_inbox.c.recipient_id,
            agent_inbox.c.sequence_number,
            agent_inbox.c.project_id,
            agent_inbox.c.key_hash,
        )
        .where(agent_inbox.c.recipient_id == recipient_id, agent_inbox.c.due_at <= now)
        .order_by(agent_inbox.c.due_at)
        .limit(BATCH)
    ).all()
    if not candidates:
        return 0
    names = {ending.key_name(row) for row in candidates if row.key_hash is not None}
    keys = ordering.lock_keys(session, names, skip=True) if names else {}
    numbers = [
        row.sequence_number
        for row in candidates
        if row.key_hash is None or ending.key_name(row) in keys
    ]
    moved = 0
    for row in _lock_due(session, recipient_id, numbers):
        # the lock did not wait, but time has passed since the look: the guard is on the row
        if row.due_at is None or row.due_at > now:
            continue
        _end(session, row, now, keys)
        moved += 1
    return moved


def _lock_due(session: Session, recipient_id: bytes, numbers: Sequence[int]) -> Sequence[Any]:
    return (
        session.connection()
        .execute(
            select_by_place(*ending.LOCKED)
            .where(
                agent_inbox.c.recipient_id == recipient_id,
                agent_inbox.c.sequence_number.in_(numbers),
            )
            .order_by(agent_inbox.c.sequence_number)
            .with_for_update(skip_locked=True)
        )
        .all()
    )


def _end(session: Session, row: Any, now: datetime, keys: ending.Keys) -> None:
    """What a locked row's timer was for."""
    gate = Gate(row.gate)
    if gate is Gate.CLAIMED:
        observe(session, What.LEASE_EXPIRED, recipient_id=row.recipient_id)
        history.note(
            session,
            row.event_id,
            Kind.LEASE_EXPIRED,
            now,
            generation=row.claim_generation,
            consumer=row.consumer,
        )
        ending.fail(session, row, failures.LEASE_OVER, now, keys, since=row.claim_expires_at)
    elif row.expires_at is not None and row.expires_at <= now:
        ending.finish(session, row, Gate.EXPIRED, now, keys, reason="expires_at")
    else:
        ending.wait(session, row, now, until=None)
