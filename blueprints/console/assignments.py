"""Assignments: who has which work and why, what nobody has; and calling one off."""

from __future__ import annotations

from urllib.parse import urlencode

from flask import Blueprint, Response, request

from blueprints.console.faults import Unclear, sentence
from blueprints.console.narrowing import NONE_LIKE_THAT, NOTHING
from blueprints.console.pages import see
from blueprints.console.sessions import with_session
from blueprints.console.shell import administrator, shell
from blueprints.console.triage import MOST_REASON
from restante.coordination.assignment_list import (
    ORDER,
    cancel_assignment,
    list_assignments,
    read_assignment,
)
from restante.coordination.assignments import State
from restante.coordination.reassigning import OPEN
from restante.errors import EventFinal
from restante.identity.called import agent_called, called
from restante.identity.roles import Right, may
from restante.identity.sessions import SignedIn
from restante.inbox.lifecycle import Status
from restante.inbox.reachability import reach
from restante.storage.ids import Prefix, decode_id
from restante.storage.transaction import Session

blueprint = Blueprint("console_assignments", __name__)
ASSIGNMENTS = 25


@blueprint.get("/assignments")
@with_session(Right.EVENTS_READ)
def listed(session: Session, who: SignedIn) -> Response:
    """Those that nobody has come first."""
    admin, asked = administrator(who), request.args
    state = asked.get("state", type=State)
    if asked.get("state") and state is None:
        raise Unclear(sentence({"state": NONE_LIKE_THAT}), there="/assignments")
    agent = asked.get("agent", "").strip()[:190]
    agent_id = (agent_called(session, admin.tenant_id, agent) or NOTHING) if agent else None
    found, token = list_assignments(
        session,
        admin,
        limit=ASSIGNMENTS,
        token=asked.get("page"),
        state=state,
        agent_id=agent_id,
    )
    parties = [name for one in found for name in (one.agent_id, one.created_by)]
    return shell(
        "assignments.html",
        session,
        who,
        here="assignments",
        assignments=found,
        page_token=token,
        first="page" not in asked,
        wanted=state,
        agent=agent,
        of_agent=urlencode({"agent": agent}) if agent else "",
        states=ORDER,
        may_reassign=may(who.operator.role, Right.ASSIGNMENTS_REASSIGN),
        names=called(session, admin.tenant_id, parties),
    )


@blueprint.get("/assignments/<assignment_id>")
@with_session(Right.EVENTS_READ)
def assignment(session: Session, who: SignedIn, assignment_id: str) -> Response:
    """One, with every decision about it."""
    return _assignment(session, who, assignment_id)


@blueprint.post("/assignments/<assignment_id>/cancel")
@with_session(Right.EVENTS_CANCEL)
def cancel(session: Session, who: SignedIn, assignment_id: str) -> Response:
    """Call it off. Whoever holds its event is asked to stop."""
    raw = decode_id(Prefix.ASSIGNMENT, assignment_id)
    admin, reason = administrator(who), request.form.get("why", "").strip()
    if not 0 < len(reason) <= MOST_REASON:
        fault = f"Say why, in at most {MOST_REASON:,} characters. Nothing was done."
        return _assignment(session, who, assignment_id, status=422, fault=fault)
    try:
        cancel_assignment(session, admin, raw, reason)
    except EventFinal:
        fault = "It has ended meanwhile. Nothing was done."
        return _assignment(session, who, assignment_id, status=409, fault=fault)
    return see(f"/assignments/{assignment_id}")


def _assignment(
    session: Session,
    who: SignedIn,
    assignment_id: str,
    *,
    status: int = 200,
    fault: str | None = None,
) -> Response:
    admin = administrator(who)
    found = read_assignment(session, admin, decode_id(Prefix.ASSIGNMENT, assignment_id))
    one = found.assignment
    considered = [c["agent_id"] for decision in found.decisions for c in decision["candidates"]]
    parties = [one.agent_id, one.created_by, *considered, *(e.agent_id for e in found.events)]
    unread = bool(found.events) and found.events[-1].status is Status.PENDING
    return shell(
        "assignment.html",
        session,
        who,
        here="assignments",
        status=status,
        assignment=one,
        decisions=found.decisions,
        events=found.events,
        fault=fault,
        names=called(session, admin.tenant_id, parties),
        stuck=unread and one.unread_ms is None and _away(session, one.agent_id),
        may_reassign=may(who.operator.role, Right.ASSIGNMENTS_REASSIGN) and one.state in OPEN,
        may_cancel=may(who.operator.role, Right.EVENTS_CANCEL) and one.state in OPEN,
    )


def _away(session: Session, agent_id: str | None) -> bool:
    raw = decode_id(Prefix.AGENT, agent_id or "")
    return raw is not None and reach(session, raw)["mode"] == "away"
