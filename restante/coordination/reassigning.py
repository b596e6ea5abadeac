"""Reassign: an assignment that somebody has, or nobody, is routed anew by one who administers the tenant.

Its policy chooses, or he does. The event it had ends in the same transaction; one in quarantine stays
there, superseded. Lock order: the inbox, its event, the assignment; the new event comes last.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from restante.audit.actions import Action
from restante.audit.chain import record
from restante.audit.entries import Entry
from restante.coordination.assignments import State
from restante.coordination.candidates import Candidate, find_candidates
from restante.coordination.rerouting import lock_assignment, next_of, send_to, slug_of
from restante.coordination.routing import keep_decision
from restante.errors import EventFinal, NotFound, ValidationFailed
from restante.identity.administrators import Administrator
from restante.identity.roles import Right
from restante.inbox import cancel, failures, locate, quarantine
from restante.inbox.browse import status_gate
from restante.inbox.lifecycle import STATUS_OF, Status
from restante.inbox.place import lock_inboxes
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, encode_id
from restante.storage.tables.assignments import assignment
from restante.storage.transaction import Repeat

OPEN = (State.ASSIGNED, State.UNROUTABLE)
BY_HAND = "chosen by hand"
_LIVE = (Status.SCHEDULED, Status.PENDING, Status.CLAIMED)


@dataclass(frozen=True, slots=True)
class Move:
    """What reassigning would do now. `status`: of the event it has; None: it has none that is kept.

    `to` None: nobody gets it; `reason` says why, or why this one does.
    """

    candidates: Sequence[Candidate]
    to: Candidate | None
    reason: str
    loser: bytes | None
    status: Status | None

    @property
    def loses(self) -> bool:
        """An agent has it, and would not have it any more."""
        return self.status in _LIVE

    @property
    def claimed(self) -> bool:
        """It is being worked on: its holder is asked to stop, and may have finished all the same."""
        return self.status is Status.CLAIMED


def look(
    session: Session,
    administrator: Administrator,
    assignment_id: bytes | None,
    *,
    agent_id: bytes | None = None,
) -> Move:
    """Who would lose it and who would get it; changes nothing. `agent_id` None: its policy chooses.

    Raises NotFound (also for an agent of another tenant), EventFinal where it has ended, and
    ValidationFailed where its deadline has passed or its payload is not kept any more.
    """
    _require(administrator)
    return _move(session, _find(session, administrator, assignment_id), agent_id)


def reassign(
    session: Session,
    administrator: Administrator,
    assignment_id: bytes | None,
    *,
    reason: str,
    agent_id: bytes | None = None,
    force: bool = False,
) -> bytes:
    """Do it → the id of the new event. It may fail with as many candidates as at first, from then on.

    Raises what `look` does, and ValidationFailed: nobody can be given it, who is named has it
    already or cannot be given it, or somebody works on it and it is not forced.
    """
    _require(administrator)
    row = _find(session, administrator, assignment_id)
    move = _move(session, row, agent_id)
    if move.to is None:
        pointer = "" if agent_id is None else "/agent_id"
        raise ValidationFailed.at(pointer, f"nobody gets it: {move.reason}")
    if move.claimed and not force:
        raise _worked_on()
    payload = _payload(session, row)
    actor = administrator.by.actor
    stays = _take_back(session, row, by=actor.id or actor.kind, reason=reason, force=force)
    locked = lock_assignment(session, row.assignment_id)
    if locked is None or (locked.event_id, locked.state) != (row.event_id, row.state):
        raise Repeat  # it has moved on meanwhile
    keep_decision(
        session, row.assignment_id, move.candidates, move.to, f"reassigned: {move.reason}"
    )
    event_id = send_to(
        session,
        locked,
        move.to,
        payload,
        state=State.ASSIGNED,
        payload=payload,
        failed=0,
        reason=None,
        ended_at=None,
    )
    if stays:
        failures.supersede(session, row.event_id, event_id)
    record(
        session,
        Entry(
            administrator.tenant_id,
            administrator.by,
            Action.ASSIGNMENT_REASSIGN,
            target=encode_id(Prefix.ASSIGNMENT, row.assignment_id),
            reason=f"to {encode_id(Prefix.AGENT, move.to.agent_id)}: {reason}",
        ),
    )
    return event_id


def _require(administrator: Administrator) -> None:
    """It takes work away and publishes it anew, so a service needs the scopes for both."""
    administrator.require(Right.ASSIGNMENTS_REASSIGN)
    administrator.require(Right.EVENTS_CANCEL)


def _find(session: Session, administrator: Administrator, assignment_id: bytes | None) -> Any:
    """The open assignment of the tenant."""
    asked = select(assignment).where(
        assignment.c.tenant_id == administrator.tenant_id,
        assignment.c.assignment_id == assignment_id,
    )
    row = session.connection().execute(asked).first()
    if row is None:
        raise NotFound
    if row.state not in OPEN:
        raise EventFinal("The assignment has ended: it is not routed anew.", event_status=row.state)
    if row.deadline_at is not None and row.deadline_at <= database_now(session):
        raise ValidationFailed.at("", "its deadline has passed: have it assigned anew")
    return row


def _move(session: Session, row: Any, agent_id: bytes | None) -> Move:
    event = _event(session, row)
    status = None
    if event is not None:
        status = STATUS_OF[status_gate(event.row, event.gate, database_now(session))]
    candidates, chosen, reason = next_of(session, row)
    if agent_id is not None:
        known = [one for one in candidates if one.agent_id == agent_id]
        if not known:
            slug = slug_of(session, row.project_id)
            known = find_candidates(
                session,
                row.tenant_id,
                slug,
                capability=row.capability,
                named=[agent_id],
                tried=(),
            )
            candidates = [*candidates, *known]
        chosen, reason = known[0], BY_HAND
        if row.agent_id == agent_id and status in _LIVE:
            chosen, reason = None, "has it already"
        elif not known[0].able:
            chosen, reason = None, known[0].why or "cannot be given it"
    return Move(candidates, chosen, reason, row.agent_id, status)


def _take_back(session: Session, row: Any, *, by: str, reason: str, force: bool) -> bool:
    """End the event it has → whether that one lies in quarantine and stays there."""
    event = _event(session, row)
    if event is None:
        return False
    lock_inboxes(session, [event.recipient_id])
    with suppress(quarantine.NotQuarantined):
        found = quarantine.find_quarantined(session, row.tenant_id, row.event_id)
        quarantine.lock_quarantined(session, found)
        return True
    with suppress(EventFinal):
        asked = cancel.withdraw(session, row.event_id, by=by, reason=reason)
        if asked == cancel.CANCEL_REQUESTED and not force:
            raise _worked_on()
    return False


def _payload(session: Session, row: Any) -> bytes:
    """Its own, or its last event's."""
    kept: bytes = row.payload
    if not kept and (event := _event(session, row)) is not None:
        kept = event.row.payload or b""
    if not kept:
        raise ValidationFailed.at(
            "", "what is to be done is not kept any more: have it assigned anew"
        )
    return kept


def _event(session: Session, row: Any) -> locate.Located | None:
    if row.event_id is None:
        return None
    with suppress(NotFound):
        return locate.by_event_id(session, row.event_id)
    return None


def _worked_on() -> ValidationFailed:
    return ValidationFailed.at(
        "/force", "is needed: somebody works on it, and may have finished before he learns of this"
    )
