"""Assignments as their tenant's operators see them: those that nobody has first, one with its decisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, func, literal, select
from sqlalchemy.orm import Session

from restante.audit.actions import Action
from restante.audit.chain import record
from restante.audit.entries import Entry
from restante.coordination.assignments import State, call_off
from restante.coordination.routing import decisions
from restante.errors import NotFound
from restante.identity.administrators import Administrator
from restante.identity.projects import projects_of
from restante.identity.roles import Right
from restante.inbox import locate
from restante.inbox.browse import status_gate
from restante.inbox.lifecycle import STATUS_OF, Status
from restante.storage import page_token
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, encode_id
from restante.storage.tables.assignments import assignment, assignment_event

COUNTED = 1_000
ORDER = (State.UNROUTABLE, State.ASSIGNED, State.COMPLETED, State.CANCELLED, State.EXPIRED)
"""What somebody must see to, what runs, what is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """An assignment. `agent_id`, `event_id`: where it is, or was last; `failed`: candidates that did."""

    assignment_id: str
    project: str
    state: State
    policy: str
    capability: str | None
    agent_id: str | None
    event_id: str | None
    created_by: str
    created_at: datetime
    deadline_at: datetime | None
    ended_at: datetime | None
    reason: str | None
    failed: int
    max_candidates: int
    unread_ms: int | None


@dataclass(frozen=True, slots=True)
class Given:
    """An event that an assignment has had. `status` None: it is no longer kept."""

    event_id: str
    agent_id: str
    status: Status | None


@dataclass(frozen=True, slots=True)
class Routed:
    """An assignment with all that became of it, the first decision and the first event first."""

    assignment: Listed
    decisions: Sequence[dict[str, Any]]
    events: Sequence[Given]


def list_assignments(
    session: Session,
    administrator: Administrator,
    *,
    limit: int,
    token: str | None = None,
    state: State | None = None,
    agent_id: bytes | None = None,
) -> tuple[list[Listed], str | None]:
    """By ORDER, the newest of a state first → (assignments, next page token).

    `agent_id`: those that are, or were last, this agent's. Raises PageTokenInvalid.
    """
    administrator.require(Right.EVENTS_READ)
    of = ("assignments", administrator.tenant_id.hex(), state or "", (agent_id or b"").hex())
    states, before = list(ORDER if state is None else (state,)), None
    if (place := page_token.take(session, of, token)) is not None:
        states, before = states[states.index(State(place[0])) :], bytes.fromhex(place[1])
    rows: list[Any] = []
    for one in states:
        asked = select(*_SHOWN).where(
            assignment.c.tenant_id == administrator.tenant_id, assignment.c.state == one
        )
        if agent_id is not None:
            asked = asked.where(assignment.c.agent_id == agent_id)
        if before is not None:
            asked = asked.where(assignment.c.assignment_id < before)
        before = None
        asked = asked.order_by(assignment.c.assignment_id.desc()).limit(limit + 1 - len(rows))
        rows += session.connection().execute(asked)
        if len(rows) > limit:
            break
    more = None
    if len(rows) > limit:
        last = rows[limit - 1]
        more = page_token.give(session, of, [last.state, last.assignment_id.hex()])
    slugs = _slugs(session, administrator.tenant_id)
    return [_listed(row, slugs) for row in rows[:limit]], more


def count_unroutable(session: Session, administrator: Administrator) -> int:
    """How many wait for somebody to see to them; COUNTED + 1: more than COUNTED."""
    return _count(session, administrator, assignment.c.state == State.UNROUTABLE)


def count_held(session: Session, administrator: Administrator, agent_id: bytes) -> int:
    """How many an agent has; COUNTED + 1: more than COUNTED."""
    held = (assignment.c.agent_id == agent_id, assignment.c.state == State.ASSIGNED)
    return _count(session, administrator, *held)


def _count(session: Session, administrator: Administrator, *which: ColumnElement[bool]) -> int:
    administrator.require(Right.EVENTS_READ)
    some = (
        select(literal(1).label("one"))
        .where(assignment.c.tenant_id == administrator.tenant_id, *which)
        .limit(COUNTED + 1)
        .subquery()
    )
    counted: int = session.connection().execute(select(func.count()).select_from(some)).scalar_one()
    return counted


def read_assignment(
    session: Session, administrator: Administrator, assignment_id: bytes | None
) -> Routed:
    """One of the tenant. Raises NotFound."""
    administrator.require(Right.EVENTS_READ)
    row = _find(session, administrator, assignment_id)
    given = session.connection().execute(
        select(assignment_event.c.event_id, assignment_event.c.agent_id)
        .where(assignment_event.c.assignment_id == row.assignment_id)
        .order_by(assignment_event.c.event_id)
    )
    now = database_now(session)
    return Routed(
        _listed(row, _slugs(session, administrator.tenant_id)),
        decisions(session, row.assignment_id),
        [
            Given(
                encode_id(Prefix.EVENT, one.event_id),
                encode_id(Prefix.AGENT, one.agent_id),
                _status(session, one.event_id, now),
            )
            for one in given.all()
        ],
    )


def cancel_assignment(
    session: Session, administrator: Administrator, assignment_id: bytes | None, reason: str
) -> bool:
    """Call it off → whether it is over; else its holder is asked to stop, and ack wins.

    Raises NotFound, and EventFinal where it has ended.
    """
    administrator.require(Right.EVENTS_CANCEL)
    row = _find(session, administrator, assignment_id)
    actor = administrator.by.actor
    over = call_off(session, row, by=actor.id or actor.kind, reason=reason)
    target = encode_id(Prefix.ASSIGNMENT, row.assignment_id)
    entry = Entry(
        administrator.tenant_id, administrator.by, Action.EVENT_CANCEL, target, reason=reason
    )
    record(session, entry)
    return over


def _find(session: Session, administrator: Administrator, assignment_id: bytes | None) -> Any:
    asked = select(*_SHOWN).where(
        assignment.c.tenant_id == administrator.tenant_id,
        assignment.c.assignment_id == assignment_id,
    )
    row = session.connection().execute(asked).first()
    if row is None:
        raise NotFound
    return row


def _slugs(session: Session, tenant_id: bytes) -> dict[bytes, str]:
    return {project.id: slug for slug, project in projects_of(session, tenant_id).items()}


def _listed(row: Any, slugs: dict[bytes, str]) -> Listed:
    return Listed(
        assignment_id=encode_id(Prefix.ASSIGNMENT, row.assignment_id),
        project=slugs[row.project_id],
        state=State(row.state),
        agent_id=row.agent_id and encode_id(Prefix.AGENT, row.agent_id),
        event_id=row.event_id and encode_id(Prefix.EVENT, row.event_id),
        **{name: getattr(row, name) for name in _SAME},
    )


def _status(session: Session, event_id: bytes, now: datetime) -> Status | None:
    try:
        found = locate.by_event_id(session, event_id)
    except NotFound:
        return None
    return STATUS_OF[status_gate(found.row, found.gate, now)]


_SAME = (
    *("policy", "capability", "created_by", "created_at", "deadline_at", "ended_at"),
    *("reason", "failed", "max_candidates", "unread_ms"),
)
_SHOWN = (
    *(assignment.c[name] for name in ("assignment_id", "project_id", "state")),
    *(assignment.c[name] for name in ("agent_id", "event_id", *_SAME)),
)
"""All but what is large: what is to be done, and what came of it."""
