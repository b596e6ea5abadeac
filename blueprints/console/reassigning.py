"""Reassign: who would lose an assignment and who would get it; then it is theirs, and why is kept."""

from __future__ import annotations

from flask import Blueprint, Response, request

from blueprints.console.form_keys import made_before, new_form_key, once
from blueprints.console.narrowing import NOTHING
from blueprints.console.pages import see
from blueprints.console.sessions import with_session
from blueprints.console.shell import administrator, shell
from blueprints.console.triage import MOST_REASON
from restante.coordination.assignment_list import read_assignment
from restante.coordination.reassigning import look, reassign
from restante.errors import EventFinal, ValidationFailed
from restante.identity.called import agent_called, called
from restante.identity.roles import Right
from restante.identity.sessions import SignedIn
from restante.storage.ids import Prefix, decode_id, encode_id
from restante.storage.transaction import Session

blueprint = Blueprint("console_reassigning", __name__)
POLICY = "policy"
ENDED = "It has ended meanwhile. Nothing was done."
MOVED = "Its policy would choose another one now, so nothing was done. This is how it is."


@blueprint.get("/assignments/<assignment_id>/reassign")
@with_session(Right.ASSIGNMENTS_REASSIGN)
def describe(session: Session, who: SignedIn, assignment_id: str) -> Response:
    """What it would do now; `also`: another agent that is considered."""
    return _page(session, who, assignment_id)


@blueprint.post("/assignments/<assignment_id>/reassign")
@with_session(Right.ASSIGNMENTS_REASSIGN)
def carry_out(session: Session, who: SignedIn, assignment_id: str) -> Response:
    """Do what the form says; or only look at another agent, with what was typed so far."""
    form, admin = request.form, administrator(who)
    if "consider" in form:
        return _page(session, who, assignment_id)
    raw, to = decode_id(Prefix.ASSIGNMENT, assignment_id), form.get("to", "")
    if made_before(session, who) is not None:
        return see(f"/assignments/{assignment_id}")
    reason = form.get("why", "").strip()
    if not 0 < len(reason) <= MOST_REASON:
        fault = f"Say why, in at most {MOST_REASON:,} characters. Nothing was done."
        return _page(session, who, assignment_id, status=422, fault=fault, field="why")
    agent_id = None
    if to != POLICY and (agent_id := decode_id(Prefix.AGENT, to)) is None:
        fault = "Choose who gets it. Nothing was done."
        return _page(session, who, assignment_id, status=422, fault=fault, field="to")
    try:
        if agent_id is None:
            chosen = look(session, admin, raw).to
            if chosen and encode_id(Prefix.AGENT, chosen.agent_id) != form.get("policy"):
                return _page(session, who, assignment_id, status=409, fault=MOVED)
        once(
            session,
            who,
            lambda: reassign(
                session,
                admin,
                raw,
                reason=reason,
                agent_id=agent_id,
                force=form.get("force") == "yes",
            ),
        )
    except EventFinal:
        return _page(session, who, assignment_id, status=409, fault=ENDED)
    except ValidationFailed as error:
        (told,) = error.members["errors"]
        detail = told["detail"]
        return _page(
            session,
            who,
            assignment_id,
            status=422,
            fault=f"{detail[:1].upper()}{detail[1:]}. Nothing was done.",
            field=told["pointer"].removeprefix("/"),
        )
    return see(f"/assignments/{assignment_id}")


def _page(
    session: Session,
    who: SignedIn,
    assignment_id: str,
    *,
    status: int = 200,
    fault: str | None = None,
    field: str | None = None,
) -> Response:
    admin, asked = administrator(who), request.values
    raw = decode_id(Prefix.ASSIGNMENT, assignment_id)
    one = read_assignment(session, admin, raw).assignment
    also, to = asked.get("also", "").strip()[:190], asked.get("to", "")
    move = named = None
    try:
        move = look(session, admin, raw)
        if also:
            named = decode_id(Prefix.AGENT, also) or agent_called(session, admin.tenant_id, also)
            named_move = look(session, admin, raw, agent_id=named or NOTHING)
            others = [c for c in named_move.candidates if c not in move.candidates]
        else:
            others = []
    except EventFinal:
        status, fault, others = 409, fault or ENDED, []
    except ValidationFailed as error:
        detail = error.members["errors"][0]["detail"]
        status, fault, others = 409, f"{detail[:1].upper()}{detail[1:]}.", []
    candidates = [*move.candidates, *others] if move else []
    has = move.loser if move and move.loses else None
    ids = {c.agent_id: encode_id(Prefix.AGENT, c.agent_id) for c in candidates}
    free = [ids[c.agent_id] for c in candidates if c.able and c.agent_id != has]
    unknown = bool(also) and (
        named is None or any(c.agent_id == named and not c.able for c in others)
    )
    return shell(
        "reassign.html",
        session,
        who,
        here="assignments",
        status=status,
        assignment=one,
        move=move,
        candidates=candidates,
        ids=ids,
        free=free,
        choosable=bool(free or (move and move.to)),
        also=also,
        unknown=unknown,
        to=to or (POLICY if move and move.to else ids.get(named or b"", "")),
        why=request.form.get("why", "")[:MOST_REASON],
        force="force" in request.form,
        form_key=new_form_key(),
        fault=fault,
        field=field,
        names=called(session, admin.tenant_id, [one.agent_id, *ids.values()]),
    )
