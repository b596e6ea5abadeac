"""What becomes of an assignment when its event ends, or nobody reads it: the next candidate, or no one.

In the transaction of that end. The next candidate's inbox row is locked late, as for all that comes
of an end (inbox/arriving.py).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

import orjson
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from restante.coordination.assignments import State, ended, keep_event
from restante.coordination.candidates import Candidate, find_candidates
from restante.coordination.routing import Policy, choose, keep_decision, stick, stuck_to
from restante.errors import EventFinal
from restante.inbox import cancel as events
from restante.inbox import failures
from restante.inbox.arriving import arrive_later
from restante.inbox.ends import Ended
from restante.inbox.envelope import instant
from restante.inbox.lifecycle import Gate
from restante.inbox.place import lock_inboxes
from restante.inbox.publication import Arrival
from restante.inbox.rules import rules
from restante.storage.clock import database_now
from restante.storage.ids import new_id
from restante.storage.tables.assignments import assignment, assignment_event
from restante.storage.tables.identity import project
from restante.storage.transaction import Repeat

SERVER = "restante"
UNREAD = "unread_timeout"


def on_end(session: Session, ends: Sequence[Ended]) -> None:
    """Events of assignments have ended (inbox/ends.py): complete, route on, or give up."""
    rows = session.connection().execute(
        select(assignment_event.c.event_id, assignment_event.c.assignment_id).where(
            assignment_event.c.event_id.in_(sorted(end.event_id for end in ends))
        )
    )
    of: dict[bytes, bytes] = {row.event_id: row.assignment_id for row in rows}
    for end in sorted(ends, key=lambda end: of.get(end.event_id, b"")):
        row = lock_assignment(session, of.get(end.event_id))
        # an event that the assignment has left is no concern of it any more
        if row is None or row.event_id != end.event_id:
            continue
        match end.gate:
            case Gate.COMPLETED if row.state in (State.ASSIGNED, State.UNROUTABLE):
                _end(session, row, State.COMPLETED, result=end.result)
            case Gate.QUARANTINED if row.state == State.ASSIGNED:
                _quarantined(session, row)
            case Gate.CANCELLED if row.state == State.ASSIGNED:
                _end(session, row, State.CANCELLED, reason=row.reason or end.reason)
            case Gate.EXPIRED if row.state == State.ASSIGNED:
                _end(session, row, State.EXPIRED, reason=end.reason)


def due_assignments(session: Session, *, limit: int) -> list[bytes]:
    """Those whose timer has gone off, the earliest first."""
    asked = (
        select(assignment.c.assignment_id)
        .where(assignment.c.due_at <= database_now(session))
        .order_by(assignment.c.due_at)
        .limit(limit)
    )
    return list(session.connection().execute(asked).scalars())


def run_timer(session: Session, assignment_id: bytes) -> bool:
    """Take the work from who has not read it in time, and route it on → whether that was due."""
    seen = (
        session.connection()
        .execute(select(assignment).where(assignment.c.assignment_id == assignment_id))
        .first()
    )
    if seen is None or seen.due_at is None:
        return False
    # lock order: the inbox, the event in `withdraw`, the assignment
    lock_inboxes(session, [seen.agent_id])
    if seen.due_at > database_now(session):
        return False
    taken = None
    with suppress(EventFinal):
        taken = events.withdraw(session, seen.event_id, by=SERVER, reason=UNREAD, only_unread=True)
    row = lock_assignment(session, assignment_id)
    if row is None or row.event_id != seen.event_id or row.due_at is None:
        raise Repeat  # it has moved on meanwhile
    if taken is None:
        _set(session, row, due_at=None)  # somebody has claimed it: attempts decide from now on
    else:
        _route_on(session, row, UNREAD)
    return True


def _quarantined(session: Session, row: Any) -> None:
    failed = row.failed + 1
    _set(session, row, failed=failed)
    if failed >= row.max_candidates:
        reason = f"{failed} candidate{'s' if failed != 1 else ''} failed, as many as may try"
        keep_decision(session, row.assignment_id, (), None, reason)
        _end(session, row, State.UNROUTABLE, reason=reason)
        return
    event_id = _route_on(session, row, "quarantined")
    if event_id is not None:
        failures.supersede(session, row.event_id, event_id)


def _route_on(session: Session, row: Any, because: str) -> bytes | None:
    """The next candidate gets an event of its own → its id; None: there is none left, or no time."""
    if row.deadline_at is not None and row.deadline_at <= database_now(session):
        _end(session, row, State.EXPIRED, reason=because)
        return None
    candidates, chosen, reason = next_of(session, row)
    keep_decision(session, row.assignment_id, candidates, chosen, f"{because}: {reason}")
    if chosen is None:
        _end(session, row, State.UNROUTABLE, reason=f"{because}: {reason}")
        return None
    return send_to(session, row, chosen, row.payload)


def next_of(session: Session, row: Any) -> tuple[list[Candidate], Candidate | None, str]:
    """Whom its policy chooses of those that have not had it → (candidates, the chosen one, why)."""
    tried = (
        session.connection()
        .execute(
            select(assignment_event.c.agent_id).where(
                assignment_event.c.assignment_id == row.assignment_id
            )
        )
        .scalars()
    )
    candidates = find_candidates(
        session,
        row.tenant_id,
        slug_of(session, row.project_id),
        capability=row.capability,
        named=None
        if row.candidates is None
        else list(map(bytes.fromhex, json.loads(row.candidates))),
        tried=set(tried),
    )
    sticky = row.sticky_hash
    before = None if sticky is None else stuck_to(session, row.project_id, sticky)
    chosen, reason = choose(Policy(row.policy), candidates, before=before)
    return candidates, chosen, reason


def slug_of(session: Session, project_id: bytes) -> str:
    """What its project is called."""
    asked = select(project.c.slug).where(project.c.project_id == project_id)
    slug: str = session.connection().execute(asked).scalar_one()
    return slug


def send_to(session: Session, row: Any, chosen: Candidate, content: bytes, **values: Any) -> bytes:
    """The work as an event of this candidate's own → its id. `values`: what else is kept with that.

    The assignment's row is locked.
    """
    event_id, now = new_id(), database_now(session)
    envelope = orjson.loads(row.envelope) | {"created_at": instant(now)}
    arrive_later(
        session,
        Arrival(
            event_id=event_id,
            recipient_id=chosen.agent_id,
            project_id=row.project_id,
            rank=0,
            max_attempts=rules(session).max_attempts,
            key_hash=None,
            available_at=now,
            expires_at=row.deadline_at,
            envelope=orjson.dumps(envelope),
            options=None,
            payload=content,
        ),
    )
    keep_event(session, row.assignment_id, event_id, chosen.agent_id)
    if row.sticky_hash is not None:
        stick(session, row.project_id, row.sticky_hash, chosen.agent_id)
    unread_at = None if row.unread_ms is None else now + timedelta(milliseconds=row.unread_ms)
    _set(session, row, agent_id=chosen.agent_id, event_id=event_id, due_at=unread_at, **values)
    return event_id


def lock_assignment(session: Session, assignment_id: bytes | None) -> Any:
    """The row, locked; None: there is none."""
    if assignment_id is None:
        return None
    return (
        session.connection()
        .execute(
            select(assignment).where(assignment.c.assignment_id == assignment_id).with_for_update()
        )
        .first()
    )


def _end(session: Session, row: Any, state: State, **values: Any) -> None:
    _set(session, row, **ended(session, state), **values)


def _set(session: Session, row: Any, **values: Any) -> None:
    session.connection().execute(
        update(assignment).where(assignment.c.assignment_id == row.assignment_id).values(values)
    )
