"""Superseded events: a newer one with the same key cancels the older ones that nobody holds.

A key is its producer's own, as an idempotency key is: what others have published is theirs to cancel.

In the transaction that publishes the newer one, under the lock of the inbox's row, which whatever
publishes with the key takes; so of two at once the one that commits last stands. Lock order: after
the inbox rows the rows of ordering keys, the superseded ones' with the newer ones', then the events.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import delete, insert, select, update
from sqlalchemy.orm import Session

from restante.inbox import ending, ordering, reports
from restante.inbox.by_key import select_by_event_id
from restante.inbox.ends import tell_end
from restante.inbox.history import Kind
from restante.inbox.lifecycle import FINAL_GATES, Gate
from restante.inbox.ordering import KeyName
from restante.inbox.publication import Arrival
from restante.inbox.rules import rules
from restante.storage.clock import database_now
from restante.storage.ids import new_id
from restante.storage.tables.events import agent_inbox, event_content, scheduled_event
from restante.storage.tables.failures import event_history
from restante.storage.tables.superseding import superseding

REASON = "superseded"


def cancel_older(session: Session, newer: Sequence[Arrival], now: datetime) -> None:
    """Cancel what these supersede, and note them as what the next may supersede.

    `newer`: those with a key. What somebody holds stays, and what is in quarantine; a row that is
    claimed at this moment is waited for. Call it before they are placed, their inbox rows locked.
    """
    names = {_name(arrival) for arrival in newer}
    keys = {(a.recipient_id, a.project_id, a.key_hash) for a in newer if a.key_hash is not None}
    _cancel(session, names, keys)
    session.connection().execute(
        insert(superseding),
        [
            {
                "recipient_id": arrival.recipient_id,
                "project_id": arrival.project_id,
                "key_hash": arrival.supersedes,
                "event_id": arrival.event_id,
                "ordering_hash": arrival.key_hash,
                "noted_at": now,
            }
            for arrival in newer
        ],
    )


def cancel_own(session: Session, newer: Sequence[Arrival]) -> None:
    """Of one transaction's events with one key the last stands. Call it once they are placed."""
    last = {_name(arrival): arrival.event_id for arrival in newer}
    older = [arrival for arrival in newer if last[_name(arrival)] != arrival.event_id]
    if not older:
        return
    _cancel(session, {_name(a) for a in older}, frozenset(), but=set(last.values()))
    for arrival in older:
        if arrival.published is not None:
            arrival.published.gate = Gate.CANCELLED


def prune(session: Session, *, limit: int) -> int:
    """Forget keys of events that retention has taken → how many."""
    connection = session.connection()
    before = database_now(session) - timedelta(seconds=rules(session).retention_seconds)
    gone = connection.execute(
        select(superseding.c.recipient_id, superseding.c.event_id)
        .where(
            superseding.c.noted_at < before,
            ~select(agent_inbox.c.event_id)
            .where(agent_inbox.c.event_id == superseding.c.event_id)
            .exists(),
            ~select(scheduled_event.c.event_id)
            .where(scheduled_event.c.event_id == superseding.c.event_id)
            .exists(),
        )
        .order_by(superseding.c.noted_at)
        .limit(limit)
    ).all()
    if not gone:
        return 0
    return connection.execute(
        delete(superseding).where(
            superseding.c.recipient_id.in_(sorted({row.recipient_id for row in gone})),
            superseding.c.event_id.in_(sorted(row.event_id for row in gone)),
        )
    ).rowcount


def _name(arrival: Arrival) -> KeyName:
    return (arrival.recipient_id, arrival.project_id, arrival.supersedes or b"")


def _cancel(
    session: Session,
    names: Collection[KeyName],
    keys_too: Collection[KeyName],
    *,
    but: Collection[bytes] = (),
) -> None:
    older = [row for row in _noted(session, names) if row.event_id not in but]
    if not older:
        return
    of_older = {
        (row.recipient_id, row.project_id, row.ordering_hash)
        for row in older
        if row.ordering_hash is not None
    }
    keys = ordering.lock_keys(session, of_older | set(keys_too)) if of_older else {}
    ids = sorted(row.event_id for row in older)
    connection = session.connection()
    placed = connection.execute(
        select_by_event_id(*ending.LOCKED)
        .where(agent_inbox.c.event_id.in_(ids))
        .order_by(agent_inbox.c.event_id)
        .with_for_update()
    ).all()
    scheduled = connection.execute(
        select(scheduled_event)
        .where(scheduled_event.c.event_id.in_(ids), scheduled_event.c.gate == Gate.SCHEDULED)
        .order_by(scheduled_event.c.event_id)
        .with_for_update()
    ).all()
    now = database_now(session)
    held = {row.event_id for row in placed if _stays(row, now)}
    going = [row for row in placed if row.event_id not in held and row.gate not in _FINAL]
    _finish(session, going, now, keys)
    _finish_scheduled(session, scheduled, now)
    _note(session, [*going, *scheduled], now)
    _forget(session, [row for row in older if row.event_id not in held])


def _noted(session: Session, names: Collection[KeyName]) -> list[Any]:
    """Earlier events with these keys. Locking reads: those see what is there, not a snapshot."""
    found: list[Any] = []
    for project_id, key_hash in sorted({name[1:] for name in names}):
        recipients = sorted(name[0] for name in names if name[1:] == (project_id, key_hash))
        found += session.connection().execute(
            select(superseding)
            # another way, which small tables tempt to, would lock the rows of other inboxes
            .with_hint(superseding, "FORCE INDEX (PRIMARY)", "mysql")
            .where(
                superseding.c.recipient_id.in_(recipients),
                superseding.c.project_id == project_id,
                superseding.c.key_hash == key_hash,
            )
            .with_for_update()
        )
    return found


def _stays(row: Any, now: datetime) -> bool:
    if row.gate == Gate.CLAIMED:
        return bool(row.claim_expires_at > now)
    return bool(row.gate == Gate.QUARANTINED)


def _finish(session: Session, rows: Sequence[Any], now: datetime, keys: ending.Keys) -> None:
    if not rows:
        return
    connection = session.connection()
    ids = [row.event_id for row in rows]
    connection.execute(
        update(agent_inbox)
        .where(agent_inbox.c.event_id.in_(ids))
        .values(
            gate=Gate.CANCELLED,
            final_at=now,
            due_at=None,
            claim_expires_at=None,
            consumer=None,
        )
    )
    # from the last to the first, so that a key's head never goes to one that goes as well
    for row in sorted(rows, key=lambda row: -row.sequence_number):
        ending.leave_key(session, row, keys)
        tell_end(session, row, Gate.CANCELLED, reason=REASON)
    by_id = {row.event_id: row for row in rows}
    asked = connection.execute(
        select(agent_inbox.c.event_id, event_content.c.envelope, event_content.c.options)
        .join(
            event_content,
            (event_content.c.recipient_id == agent_inbox.c.recipient_id)
            & (event_content.c.sequence_number == agent_inbox.c.sequence_number),
        )
        .where(agent_inbox.c.event_id.in_(ids), event_content.c.options.is_not(None))
    ).all()
    for content in asked:
        row = by_id[content.event_id]
        reports.report_content(session, row, content, Gate.CANCELLED, now, reason=REASON)


def _finish_scheduled(session: Session, rows: Sequence[Any], now: datetime) -> None:
    if not rows:
        return
    session.connection().execute(
        update(scheduled_event)
        .where(scheduled_event.c.event_id.in_([row.event_id for row in rows]))
        .values(gate=Gate.CANCELLED, due_at=None, final_at=now)
    )
    for row in rows:
        reports.report_content(session, row, row, Gate.CANCELLED, now, reason=REASON)


def _note(session: Session, rows: Sequence[Any], now: datetime) -> None:
    if rows:
        session.connection().execute(
            insert(event_history),
            [
                {
                    "event_id": row.event_id,
                    "entry_id": new_id(),
                    "at": now,
                    "kind": Kind.CANCELLED,
                    "generation": getattr(row, "claim_generation", 0),
                    "consumer": None,
                    "reason": REASON,
                    "actor": None,
                }
                for row in rows
            ],
        )


def _forget(session: Session, rows: Sequence[Any]) -> None:
    """What is over is no more to be superseded."""
    if rows:
        session.connection().execute(
            delete(superseding).where(
                superseding.c.recipient_id.in_(sorted({row.recipient_id for row in rows})),
                superseding.c.event_id.in_(sorted(row.event_id for row in rows)),
            )
        )


_FINAL = frozenset(gate.value for gate in FINAL_GATES)
