"""Reading: a page after a cursor, one event, what is held, how much there is. Changes no event."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from restante.errors import NotFound
from restante.identity.principal import Principal, Project
from restante.identity.scopes import Verb
from restante.inbox import failures, history, locate, timers
from restante.inbox.envelope import event_json, instant
from restante.inbox.lifecycle import FINAL_GATES, Gate, effective_gate
from restante.inbox.look import Look, check_cursor, look
from restante.inbox.rules import PAGE_BYTES, PAGE_EXAMINED
from restante.storage.clock import database_now
from restante.storage.tables.events import agent_inbox, event_content
from restante.storage.tables.inboxes import inbox
from restante.storage.transaction import Repeat

CHUNK = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRequest:
    """`projects`: covered and asked for. Without `after_cursor`: from the oldest kept."""

    projects: tuple[Project, ...]
    after_cursor: int | None = None
    limit: int = 10
    open_only: bool = False
    epoch: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """`next_cursor` says how far it looked, even with no event in it."""

    events: list[bytes]
    next_cursor: int
    has_more: bool
    claimable: int
    epoch: str
    next_poll_ms: int


def seen(session: Session, agent: Principal, projects: Sequence[Project]) -> Look:
    """A look at the inbox, once what is due in it has been done."""
    first = look(session, agent, projects)
    if first.is_due and timers.run_due(session, agent.id, nowait=True):
        return look(session, agent, projects)
    return first


def read_page(session: Session, agent: Principal, request: ReadRequest) -> Page:
    """Events after a cursor, ascending, in any state. Raises CursorGone.

    The floor is read again after the rows: a purge raises it before its rows go.
    """
    first = seen(session, agent, request.projects)
    check_cursor(session, agent.id, first, request.after_cursor, request.epoch)
    after = first.oldest_cursor if request.after_cursor is None else request.after_cursor
    chosen, cursor, has_more = _choose(session, agent.id, request, after, first.now)
    events = _render(session, agent.id, chosen, first.now)
    floor = session.connection().execute(_FLOOR, {"recipient": agent.id}).one()
    if request.after_cursor is None and floor.oldest_cursor > after:
        raise Repeat  # who named no cursor has lost none: from the new floor, then
    check_cursor(session, agent.id, floor, after, request.epoch)
    claimable = 0 if first.paused else first.claimable()
    return Page(
        events=events,
        next_cursor=cursor,
        has_more=has_more,
        claimable=claimable,
        epoch=first.epoch.hex(),
        next_poll_ms=first.next_poll_ms(claimable),
    )


def read_event(session: Session, agent: Principal, event_id: bytes) -> bytes:
    """One event with its result, last error and timeline, wherever it is. Raises NotFound."""
    projects = {p.id for p in agent.require_any(Verb.READ)}
    seen(session, agent, agent.covered(Verb.READ))
    found = locate.by_event_id(session, event_id)
    if found.recipient_id != agent.id or found.project_id not in projects:
        raise NotFound
    return located_json(session, found, database_now(session))


def located_json(session: Session, found: locate.Located, now: datetime) -> bytes:
    """A located event, flat, with what one event tells beyond a page."""
    gate = status_gate(found.row, found.gate, now)
    shown = found.row.payload if gate not in (Gate.COMPLETED, Gate.QUARANTINED) else None
    result = getattr(found.row, "result", None)
    failed = failures.last_error(session, found.event_id)
    beyond = {
        "result": None if result is None else orjson.Fragment(result),
        "last_error": failed.error,
        "failure_signature": failed.signature,
        "superseded_by": failed.superseded_by,
        "timeline": history.timeline(session, found.event_id) + _expiry(found.row, gate),
    }
    return event_json(
        _Moving(found),
        found.row.envelope,
        shown,
        status=gate,
        more=b"," + orjson.dumps(beyond)[1:-1],
    )


def _expiry(row: Any, gate: Gate) -> list[dict[str, Any]]:
    """That it expired, as the last entry of its timeline: the row says it, no entry is written."""
    if gate is not Gate.EXPIRED:
        return []
    entry = {
        "at": instant(row.final_at or row.expires_at),
        "kind": history.Kind.EXPIRED,
        "generation": getattr(row, "claim_generation", 0),
        "consumer": None,
        "reason": getattr(row, "reason", None) or "expires_at",
    }
    return [entry]


class _Moving:
    """The moving columns of an event that may lie in any of the three tables."""

    __slots__ = ("_row", "sequence_number")

    def __init__(self, found: locate.Located) -> None:
        self._row = found.row
        self.sequence_number = found.sequence_number

    def __getattr__(self, name: str) -> Any:
        return getattr(self._row, name, _UNSET.get(name))


_UNSET = {"attempts": 0, "redriven": False}


def status_gate(row: Any, gate: Gate, now: datetime) -> Gate:
    """The effective gate of a row of any of the three tables."""
    return effective_gate(
        gate,
        now,
        claim_expires_at=getattr(row, "claim_expires_at", None),
        expires_at=row.expires_at,
        due_at=getattr(row, "due_at", None),
    )


def _choose(
    session: Session, recipient_id: bytes, request: ReadRequest, after: int, now: datetime
) -> tuple[list[Any], int, bool]:
    """Walk the log → (rows to show, how far it looked, whether there may be more)."""
    projects = {p.id for p in request.projects}
    chosen: list[Any] = []
    cursor, examined, size = after, 0, 0
    while True:
        chunk = min(CHUNK, PAGE_EXAMINED - examined, request.limit - len(chosen) + 1)
        rows = (
            session.connection()
            .execute(_WALK, {"recipient": recipient_id, "after": cursor, "chunk": chunk})
            .all()
        )
        for row in rows:
            shown = row.project_id in projects and not (
                request.open_only and status_gate(row, Gate(row.gate), now) in FINAL_GATES
            )
            if shown and (len(chosen) == request.limit or (chosen and size > PAGE_BYTES)):
                return chosen, cursor, True
            if shown:
                size += 0 if row.gate in _WITHOUT_PAYLOAD else row.payload_bytes
                if chosen and size > PAGE_BYTES:
                    return chosen, cursor, True
                chosen.append(row)
            cursor = row.sequence_number
        examined += len(rows)
        if len(rows) < chunk:
            return chosen, cursor, False
        if examined >= PAGE_EXAMINED:
            return chosen, cursor, True


def _render(
    session: Session, recipient_id: bytes, rows: Sequence[Any], now: datetime
) -> list[bytes]:
    if not rows:
        return []
    numbers = [row.sequence_number for row in rows]
    contents = {
        content.sequence_number: content
        for content in session.connection().execute(
            _CONTENT, {"recipient": recipient_id, "numbers": numbers}
        )
    }
    events = []
    for row in rows:
        content = contents.get(row.sequence_number)
        if content is None:
            continue  # archived since it was read: the floor, looked at next, says so
        gate = status_gate(row, Gate(row.gate), now)
        payload = None if gate in _WITHOUT_PAYLOAD else content.payload
        events.append(event_json(row, content.envelope, payload, status=gate))
    return events


_WITHOUT_PAYLOAD = (Gate.COMPLETED, Gate.QUARANTINED)
_WALK = (
    select(
        agent_inbox.c.sequence_number,
        agent_inbox.c.event_id,
        agent_inbox.c.project_id,
        agent_inbox.c.gate,
        agent_inbox.c.payload_bytes,
        agent_inbox.c.attempts,
        agent_inbox.c.max_attempts,
        agent_inbox.c.ordering_sequence,
        agent_inbox.c.claim_expires_at,
        agent_inbox.c.available_at,
        agent_inbox.c.not_before,
        agent_inbox.c.expires_at,
        agent_inbox.c.due_at,
        agent_inbox.c.redriven,
    )
    .where(
        agent_inbox.c.recipient_id == bindparam("recipient"),
        agent_inbox.c.sequence_number > bindparam("after"),
    )
    .order_by(agent_inbox.c.sequence_number)
    .limit(bindparam("chunk"))
)
_CONTENT = select(
    event_content.c.sequence_number, event_content.c.envelope, event_content.c.payload
).where(
    event_content.c.recipient_id == bindparam("recipient"),
    event_content.c.sequence_number.in_(bindparam("numbers", expanding=True)),
)
_FLOOR = select(inbox.c.epoch, inbox.c.head, inbox.c.oldest_cursor).where(
    inbox.c.recipient_id == bindparam("recipient")
)
