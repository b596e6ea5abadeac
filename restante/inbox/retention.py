"""Retention: the log is eaten from the front, in small transactions, into the archive.

Two steps, each its own transaction. `raise_floor` decides how far and commits the new
`oldest_cursor`; `archive` then moves the rows below it. A reader looks at the floor after its rows,
so it never takes a hole for the end of the log.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Column, bindparam, delete, insert, or_, select, update
from sqlalchemy.orm import Session

from restante.inbox import ending, ordering, reports
from restante.inbox.by_key import select_by_place
from restante.inbox.ends import tell_end
from restante.inbox.lifecycle import FINAL_GATES, PENDING_GATES, Gate
from restante.inbox.place import lock_inboxes
from restante.inbox.rules import rules
from restante.storage.clock import database_now
from restante.storage.pruning import prune
from restante.storage.statement import Statement
from restante.storage.tables.events import (
    agent_inbox,
    archived_event,
    event_content,
    scheduled_event,
)
from restante.storage.tables.inboxes import inbox

BATCH = 500
REASON = "retention"


def aged_inboxes(session: Session, *, after: bytes, limit: int) -> list[bytes]:
    """Inboxes with events, by id after `after`: those to look at in this round."""
    rows = session.connection().execute(
        select(inbox.c.recipient_id)
        .where(inbox.c.recipient_id > after, inbox.c.head > 0)
        .order_by(inbox.c.recipient_id)
        .limit(limit)
    )
    return list(rows.scalars())


def ripe_inboxes(session: Session, recipient_ids: Sequence[bytes]) -> list[bytes]:
    """Those of these inboxes where `raise_floor` or `archive` may find something, in one look."""
    old = database_now(session) - timedelta(seconds=rules(session).retention_seconds)
    rows = _RIPE.rows(session, {"recipients": list(recipient_ids), "old": old})
    return [row.recipient_id for row in rows]


def raise_floor(session: Session, recipient_id: bytes) -> int | None:
    """Raise `oldest_cursor` over the run of old events → the new floor, None where it stays."""
    now = database_now(session)
    old = now - timedelta(seconds=rules(session).retention_seconds)
    row = lock_inboxes(session, [recipient_id]).get(recipient_id)
    if row is None:
        return None
    connection = session.connection()
    floor = connection.execute(
        select(inbox.c.oldest_cursor).where(inbox.c.recipient_id == recipient_id)
    ).scalar_one()
    new = floor
    for event in connection.execute(_front(recipient_id, floor)):
        if event.available_at >= old or _stops(session, event, now):
            break
        new = event.sequence_number
    if new == floor:
        return None
    connection.execute(
        update(inbox).where(inbox.c.recipient_id == recipient_id).values(oldest_cursor=new)
    )
    return int(new)


def archive(session: Session, recipient_id: bytes) -> int:
    """Move old events at or below the floor into the archive → how many. Held ones come next time.

    Pending ones become expired, reason retention, and take their payload along; quarantined ones
    stay whole where they are. After `db restored` there are young ones below the floor: they are
    mail like any other, until they are old.
    """
    connection = session.connection()
    old = database_now(session) - timedelta(seconds=rules(session).retention_seconds)
    eaten = [agent_inbox.c.gate.in_(_FINAL)]
    if not rules(session).retention_keeps_unsettled:
        # redriven from quarantine, they are mail again, below the floor
        eaten.append(agent_inbox.c.redriven.is_(False))
    floor = connection.execute(
        select(inbox.c.oldest_cursor).where(inbox.c.recipient_id == recipient_id)
    ).scalar_one()
    below = connection.execute(
        select(
            agent_inbox.c.recipient_id,
            agent_inbox.c.sequence_number,
            agent_inbox.c.project_id,
            agent_inbox.c.key_hash,
        )
        .where(
            agent_inbox.c.recipient_id == recipient_id,
            agent_inbox.c.sequence_number <= floor,
            agent_inbox.c.available_at < old,
            agent_inbox.c.gate.not_in([Gate.QUARANTINED.value, Gate.CLAIMED.value]),
            or_(*eaten),
        )
        .order_by(agent_inbox.c.sequence_number)
        .limit(BATCH)
    ).all()
    if not below:
        return 0
    names = {ending.key_name(row) for row in below if row.key_hash is not None}
    keys = ordering.lock_keys(session, names) if names else {}
    rows = connection.execute(
        select_by_place(*ending.LOCKED)
        .where(
            agent_inbox.c.recipient_id == recipient_id,
            agent_inbox.c.sequence_number.in_([row.sequence_number for row in below]),
        )
        .order_by(agent_inbox.c.sequence_number)
        .with_for_update(skip_locked=True)
    ).all()
    now = database_now(session)
    unsettled = [row for row in rows if row.gate in _PENDING and not row.redriven]
    for row in reversed(unsettled):
        ending.leave_key(session, row, keys)
        reports.report(session, row, Gate.EXPIRED, now, reason=REASON)
        tell_end(session, row, Gate.EXPIRED, reason=REASON)
    moved = [row.sequence_number for row in rows if row.gate in _FINAL or row in unsettled]
    if moved:
        _move(session, recipient_id, moved, {row.sequence_number for row in unsettled}, now)
    return len(moved)


def prune_scheduled(session: Session, *, limit: int = BATCH) -> int:
    """Cancelled before they were due and old: they have no place in the log to be eaten from."""
    connection = session.connection()
    now = database_now(session)
    old = now - timedelta(seconds=rules(session).retention_seconds)
    rows = connection.execute(
        select(scheduled_event)
        .where(scheduled_event.c.final_at < old)
        .order_by(scheduled_event.c.final_at)
        .limit(limit)
        .with_for_update(skip_locked=True)
    ).all()
    if rows:
        connection.execute(insert(archived_event), [_archived(row, None, now) for row in rows])
        connection.execute(
            delete(scheduled_event).where(
                scheduled_event.c.event_id.in_([row.event_id for row in rows])
            )
        )
    return len(rows)


def prune_with_retention(session: Session, column: Column[Any]) -> int:
    """Delete about a thousand rows whose instant is as long ago as events are kept → how many."""
    return prune(session, column, timedelta(seconds=rules(session).retention_seconds))


_FIRST = (
    select(agent_inbox.c.available_at)
    .where(
        agent_inbox.c.recipient_id == inbox.c.recipient_id,
        agent_inbox.c.sequence_number > inbox.c.oldest_cursor,
    )
    .order_by(agent_inbox.c.sequence_number)
    .limit(1)
    .scalar_subquery()
)
_FIRST_BELOW = (
    select(agent_inbox.c.available_at)
    .where(
        agent_inbox.c.recipient_id == inbox.c.recipient_id,
        agent_inbox.c.sequence_number <= inbox.c.oldest_cursor,
        agent_inbox.c.gate != Gate.QUARANTINED.value,
    )
    .order_by(agent_inbox.c.sequence_number)
    .limit(1)
    .scalar_subquery()
)
_RIPE = Statement(
    select(inbox.c.recipient_id)
    .where(
        inbox.c.recipient_id.in_(bindparam("recipients", expanding=True)),
        or_(bindparam("old") > _FIRST, bindparam("old") > _FIRST_BELOW),
    )
    .order_by(inbox.c.recipient_id)
)


def _front(recipient_id: bytes, floor: int) -> Any:
    return (
        select(
            agent_inbox.c.sequence_number,
            agent_inbox.c.gate,
            agent_inbox.c.available_at,
            agent_inbox.c.claim_expires_at,
        )
        .where(agent_inbox.c.recipient_id == recipient_id, agent_inbox.c.sequence_number > floor)
        .order_by(agent_inbox.c.sequence_number)
        .limit(BATCH)
    )


def _stops(session: Session, event: Any, now: datetime) -> bool:
    """Under a lease nothing is eaten; with RESTANTE_RETENTION_UNSETTLED=keep nothing unsettled."""
    if event.gate == Gate.CLAIMED:
        return True
    return rules(session).retention_keeps_unsettled and event.gate in _PENDING


def _move(
    session: Session,
    recipient_id: bytes,
    numbers: Sequence[int],
    unsettled: set[int],
    now: datetime,
) -> None:
    connection = session.connection()
    rows = connection.execute(
        select(
            agent_inbox, event_content.c.envelope, event_content.c.payload, event_content.c.result
        )
        .join(
            event_content,
            (event_content.c.recipient_id == agent_inbox.c.recipient_id)
            & (event_content.c.sequence_number == agent_inbox.c.sequence_number),
        )
        .where(
            agent_inbox.c.recipient_id == recipient_id,
            agent_inbox.c.sequence_number.in_(numbers),
        )
    ).all()
    connection.execute(
        insert(archived_event),
        [
            _archived(row, row.sequence_number, now, expired_here=row.sequence_number in unsettled)
            for row in rows
        ],
    )
    for table in (event_content, agent_inbox):
        connection.execute(
            delete(table).where(
                table.c.recipient_id == recipient_id, table.c.sequence_number.in_(numbers)
            )
        )


def _archived(
    row: Any, number: int | None, now: datetime, *, expired_here: bool = False
) -> dict[str, Any]:
    return {
        "event_id": row.event_id,
        "recipient_id": row.recipient_id,
        "sequence_number": number,
        "project_id": row.project_id,
        "gate": Gate.EXPIRED if expired_here else row.gate,
        "attempts": getattr(row, "attempts", 0),
        "max_attempts": row.max_attempts,
        "claim_generation": getattr(row, "claim_generation", 0),
        "ordering_sequence": getattr(row, "ordering_sequence", None),
        "available_at": row.available_at,
        "first_claimed_at": getattr(row, "first_claimed_at", None),
        "expires_at": row.expires_at,
        "final_at": now if expired_here else row.final_at,
        "archived_at": now,
        "cancel_requested": getattr(row, "cancel_requested", False),
        "redriven": getattr(row, "redriven", False),
        "reason": REASON if expired_here else None,
        "envelope": row.envelope,
        "payload": row.payload if expired_here else None,
        "result": getattr(row, "result", None),
    }


_PENDING = frozenset(gate.value for gate in PENDING_GATES)
_FINAL = frozenset(gate.value for gate in FINAL_GATES)
