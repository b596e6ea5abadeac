"""Changes of scopes: what they would do, with nothing done; then all of them, or none and why."""

from __future__ import annotations

from collections.abc import Sequence

from flask import Blueprint, Response, request

from blueprints.console.pages import see
from blueprints.console.scope_cells import SHORT
from blueprints.console.sessions import with_session
from blueprints.console.shell import administrator, shell
from restante.errors import ValidationFailed
from restante.identity.administrators import Administrator
from restante.identity.grant_changes import (
    MOST_CHANGES,
    REASON_CHARACTERS,
    Change,
    change_grants,
    read_change,
)
from restante.identity.grant_list import EVERY
from restante.identity.grants import grants_of
from restante.identity.machine_list import find_machine
from restante.identity.principal import PrincipalKind
from restante.identity.projects import projects_of
from restante.identity.roles import Right
from restante.identity.scopes import ProjectScope, Verb, parse_scope
from restante.identity.sessions import SignedIn
from restante.inbox.grant_effects import AGENTS, COUNTED, effects_of
from restante.storage.transaction import Session

blueprint = Blueprint("console_scope_changes", __name__)
MOST_BYTES = 64 * 1024
MOST_TYPED = 2_000
NO_REASON = "Say why: it is kept in the audit. Nothing was changed."
MANY = f"At most {MOST_CHANGES} changes go at once. These are the first; nothing was changed."
CHANGED = (
    "What is granted has changed since these were counted, so nothing was done. "
    "This is what is left of it."
)


@blueprint.post("/scopes/preview")
@with_session(Right.GRANTS_WRITE, most_bytes=MOST_BYTES)
def preview(session: Session, who: SignedIn) -> Response:
    """Who would lose and gain what: a page, or for the matrix the part of it (htmx)."""
    changes = _changes(session, administrator(who))
    return previewed(session, who, changes)


@blueprint.post("/scopes/apply")
@with_session(Right.GRANTS_WRITE, most_bytes=MOST_BYTES)
def apply(session: Session, who: SignedIn) -> Response:
    """Carry them out."""
    admin, reason = administrator(who), request.form.get("why", "").strip()
    changes = _changes(session, admin)
    if not changes:
        return previewed(session, who, changes, status=422)
    if len(changes) > MOST_CHANGES:
        return previewed(session, who, changes)
    if not reason or len(reason) > REASON_CHARACTERS:
        return previewed(session, who, changes, status=422, fault=NO_REASON)
    try:
        unfit = change_grants(session, admin, changes, reason=reason)
    except ValidationFailed as error:
        faults = error.members.get("errors") or [{}]
        fault = f"{faults[0].get('detail', error.detail)}. Nothing was changed."
        return previewed(session, who, changes, status=422, fault=fault.capitalize())
    if unfit:
        left = [one for one in changes if one not in unfit]
        return previewed(session, who, left, status=409, fault=CHANGED)
    return see(f"/scopes?applied={len(changes)}")


def previewed(
    session: Session,
    who: SignedIn,
    changes: Sequence[Change],
    *,
    status: int = 200,
    fault: str | None = None,
    why: str = "",
) -> Response:
    """The page of what these would do. `why`: what stands there as the reason before one is given."""
    if len(changes) > MOST_CHANGES:
        changes, status, fault = changes[:MOST_CHANGES], 422, MANY
    part = "HX-Request" in request.headers
    return shell(
        "scopes_effects.html" if part else "scopes_preview.html",
        session,
        who,
        here="scopes",
        status=status,
        effects=effects_of(session, administrator(who), changes),
        changes=changes,
        part=part,
        fault=fault,
        reason=request.form.get("why", why)[:MOST_TYPED],
        most=COUNTED,
        most_agents=AGENTS,
        most_reason=REASON_CHARACTERS,
        short=SHORT,
    )


def _changes(session: Session, admin: Administrator) -> list[Change]:
    """Those named one by one, or what was changed in an agent's form and is otherwise now."""
    form = request.form
    named = [change for text in form.getlist("change") if (change := read_change(text))]
    agent = form.get("agent", "")
    if agent:
        named += _of_form(session, admin, agent)
    changes = sorted(set(named))
    known = {EVERY, *projects_of(session, admin.tenant_id)}
    return [change for change in changes if change.project in known]


def _of_form(session: Session, admin: Administrator, agent: str) -> list[Change]:
    found = find_machine(session, admin.tenant_id, PrincipalKind.AGENT, agent)
    held = grants_of(session, found.id)
    ticked = {parse_scope(text) for text in request.form.getlist("grant")}
    had = {parse_scope(text) for text in request.form.getlist("had")}
    changes = []
    for project in request.form.getlist("shown"):
        for verb in Verb:
            scope = ProjectScope(project, verb)
            wanted = scope in ticked
            if wanted is not (scope in held) and wanted is not (scope in had):
                changes.append(Change(agent, project, verb.value, scope in ticked))
    return changes
