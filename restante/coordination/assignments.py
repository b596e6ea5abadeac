"""Assignments: a piece of work, the candidate that has it now, and what came of it (contract 6.2).

Lock order: inbox rows, event rows, then the assignment's row. Making one locks the inboxes of those it
is chosen from, so that of many at once each sees whom those before it have chosen.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import insert, or_, select, update
from sqlalchemy.orm import Session

from restante.coordination.candidates import find_candidates
from restante.coordination.routing import Policy, choose, keep_decision, stick, stuck_to
from restante.errors import EventFinal, NotFound
from restante.identity.principal import Principal
from restante.identity.scopes import TenantScope, Verb
from restante.inbox import cancel as events
from restante.inbox.publication import Publication, hash_key
from restante.inbox.publish import publish, write
from restante.inbox.recipients import check_recipients, project_of
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, encode_id, new_id
from restante.storage.tables.assignments import assignment, assignment_event
from restante.storage.transaction import Repeat

TYPE = "work_assignment"


class State(StrEnum):
    """Where an assignment is. An unroutable one can still be completed, by a redrive of its event."""

    ASSIGNED = "assigned"
    COMPLETED = "completed"
    UNROUTABLE = "unroutable"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What is to be done, and by whom. `payload`: the JSON object's text. Lengths in seconds."""

    project: str
    payload: bytes
    capability: str | None = None
    candidates: tuple[bytes, ...] | None = None
    policy: Policy = Policy.LEAST_LOADED
    sticky_key: str | None = None
    deadline_seconds: float | None = None
    unread_timeout_seconds: float | None = None
    max_candidates: int = 2


def assign(session: Session, producer: Principal, work: Work) -> bytes:
    """Choose a candidate and publish the work to it, together with the assignment → its id.

    Without any it is unroutable. Raises InsufficientScope or ValidationFailed for the project,
    RecipientRefused for a named candidate (unknown, foreign, removed or without the project), InboxFull.
    """
    message = _message(work, work.candidates or ())
    within = project_of(producer, message, "")
    if work.candidates:
        check_recipients(session, producer, [message])
    candidates = find_candidates(
        session,
        producer.tenant_id,
        work.project,
        capability=work.capability,
        named=work.candidates,
        tried=(),
        locking=work.policy is not Policy.IN_ORDER,  # the others look at how much each has
    )
    sticky = None if work.sticky_key is None else hash_key(work.sticky_key)
    before = None if sticky is None else stuck_to(session, within.id, sticky)
    chosen, reason = choose(work.policy, candidates, before=before)
    assignment_id, event_id = new_id(), None
    now = database_now(session)
    said = _message(work, (), correlation_id=encode_id(Prefix.ASSIGNMENT, assignment_id))
    if chosen is not None:
        said.recipients = (chosen.agent_id,)
        (event,) = publish(session, producer, [said])
        event_id = event.event_id
        write(session)  # inbox rows before the rest
    row: dict[str, Any] = {
        "assignment_id": assignment_id,
        "tenant_id": producer.tenant_id,
        "project_id": within.id,
        "state": State.UNROUTABLE if chosen is None else State.ASSIGNED,
        "policy": work.policy,
        "capability": work.capability,
        "candidates": _dump(work.candidates),
        "sticky_hash": sticky,
        "max_candidates": work.max_candidates,
        "unread_ms": _milliseconds(work.unread_timeout_seconds),
        "created_by": producer.public_id,
        "envelope": said.envelope(producer, now),
        "payload": work.payload,
        "agent_id": None if chosen is None else chosen.agent_id,
        "event_id": event_id,
        "reason": None,
        "created_at": now,
        "deadline_at": _after(now, work.deadline_seconds),
        "ended_at": now if chosen is None else None,
        "due_at": None if chosen is None else _after(now, work.unread_timeout_seconds),
    }
    session.connection().execute(insert(assignment), row)
    if chosen is not None and event_id is not None:
        keep_event(session, assignment_id, event_id, chosen.agent_id)
        if sticky is not None:
            stick(session, within.id, sticky, chosen.agent_id)
    keep_decision(session, assignment_id, candidates, chosen, reason)
    return assignment_id


def find_assignment(session: Session, who: Principal, assignment_id: bytes | None) -> Any:
    """The row, for who made it, for the agent that has it, and with tenant:events:read. NotFound."""
    row = (
        session.connection()
        .execute(
            select(assignment).where(
                assignment.c.tenant_id == who.tenant_id,
                assignment.c.assignment_id == assignment_id,
            )
        )
        .first()
    )
    if row is None:
        raise NotFound
    if who.has(TenantScope.EVENTS_READ) or who.has(TenantScope.EVENTS_CANCEL):
        return row
    covered = {p.id for verb in (Verb.READ, Verb.PUBLISH) for p in who.covered(verb)}
    if row.project_id not in covered or who.public_id not in _parties(row):
        raise NotFound
    return row


def cancel(session: Session, who: Principal, assignment_id: bytes | None, reason: str) -> bool:
    """Call an assignment off → whether it is over; else its holder is asked to stop, and ack wins.

    For who made it and may publish in its project, and with tenant:events:cancel. Raises NotFound, and
    EventFinal where it has ended.
    """
    row = find_assignment(session, who, assignment_id)
    if not who.has(TenantScope.EVENTS_CANCEL) and not _may_end(who, row):
        raise NotFound
    return call_off(session, row, by=who.public_id, reason=reason)


def call_off(session: Session, row: Any, *, by: str, reason: str) -> bool:
    """Call an assignment off for one who may → as `cancel`. Raises EventFinal."""
    if row.state not in (State.ASSIGNED, State.UNROUTABLE):
        raise EventFinal(event_status=row.state)
    over = True
    if row.state == State.ASSIGNED:
        asked = events.withdraw(session, row.event_id, by=by, reason=reason)
        over = asked != events.CANCEL_REQUESTED
    elif row.event_id is not None:
        # its last event lies in quarantine, or was redriven from there
        with suppress(EventFinal):
            events.withdraw(session, row.event_id, by=by, reason=reason)
    values: dict[str, Any] = {"reason": reason}
    if over:
        values |= ended(session, State.CANCELLED)
    changed = session.connection().execute(
        update(assignment)
        .where(
            assignment.c.assignment_id == row.assignment_id,
            or_(assignment.c.event_id == row.event_id, assignment.c.event_id.is_(None)),
            assignment.c.state == row.state,
        )
        .values(values)
    )
    if not changed.rowcount:
        raise Repeat  # it has moved on meanwhile
    return over


def open_assignments(session: Session, agent: Principal, *, limit: int = 1000) -> list[Any]:
    """Those that an agent has and has not completed, the oldest first."""
    projects = [project.id for project in agent.covered(Verb.READ)]
    return list(
        session.connection().execute(
            select(
                assignment.c.assignment_id,
                assignment.c.project_id,
                assignment.c.event_id,
                assignment.c.created_at,
                assignment.c.deadline_at,
            )
            .where(
                assignment.c.agent_id == agent.id,
                assignment.c.state == State.ASSIGNED,
                assignment.c.project_id.in_(projects),
            )
            .order_by(assignment.c.assignment_id)
            .limit(limit)
        )
    )


def ended(session: Session, state: State) -> dict[str, Any]:
    """What is set of one that has ended. Its payload is dropped, unless it may still be reassigned."""
    values = {"state": state, "ended_at": database_now(session), "due_at": None}
    return values if state is State.UNROUTABLE else {**values, "payload": b""}


def keep_event(session: Session, assignment_id: bytes, event_id: bytes, agent_id: bytes) -> None:
    """An event is the assignment's, so its end is its concern."""
    row = {"event_id": event_id, "assignment_id": assignment_id, "agent_id": agent_id}
    session.connection().execute(insert(assignment_event), row)


def _message(
    work: Work, recipients: Sequence[bytes], *, correlation_id: str | None = None
) -> Publication:
    return Publication(
        recipients=tuple(recipients),
        project=work.project,
        type=TYPE,
        payload=work.payload,
        correlation_id=correlation_id,
        expires_in_seconds=work.deadline_seconds,
    )


def _may_end(who: Principal, row: Any) -> bool:
    publishes = {project.id for project in who.covered(Verb.PUBLISH)}
    return row.created_by == who.public_id and row.project_id in publishes


def _parties(row: Any) -> set[str]:
    agent = set() if row.agent_id is None else {encode_id(Prefix.AGENT, row.agent_id)}
    return {row.created_by, *agent}


def _after(now: datetime, seconds: float | None) -> datetime | None:
    return None if seconds is None else now + timedelta(seconds=seconds)


def _milliseconds(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1000)


def _dump(candidates: tuple[bytes, ...] | None) -> str | None:
    return None if candidates is None else json.dumps([agent.hex() for agent in candidates])
