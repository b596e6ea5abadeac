"""Projects: the labels that scopes are written for, and what is set for each."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, request
from werkzeug.datastructures import MultiDict

from blueprints.console.as_shown import Sent, faults, marks, marks_in, sent
from blueprints.console.faults import faults_of
from blueprints.console.pages import see
from blueprints.console.sessions import with_session
from blueprints.console.shell import administrator, shell
from restante.errors import RecipientRefused, ValidationFailed
from restante.identity.administrators import Administrator
from restante.identity.called import agent_called, called
from restante.identity.project_settings import (
    OPERATORS,
    OnQuarantine,
    ProjectSettings,
    add_project,
    change_project,
    list_projects,
    read_project,
)
from restante.identity.roles import Right, may
from restante.identity.sessions import SignedIn
from restante.storage.ids import Prefix, encode_id
from restante.storage.transaction import Session

blueprint = Blueprint("console_projects", __name__)
PROJECTS = 50
UNITS = {"min": 60, "h": 3_600, "d": 86_400}
"""Seconds of what lengths are typed in."""
QUARANTINED = {OnQuarantine.SKIP: "go on", OnQuarantine.HOLD: "hold the key"}


@blueprint.get("/projects")
@with_session(Right.AGENTS_READ)
def listed(session: Session, who: SignedIn) -> Response:
    """A page of them, by slug."""
    return _list(session, who)


@blueprint.post("/projects")
@with_session(Right.AGENTS_WRITE)
def create(session: Session, who: SignedIn) -> Response:
    """A new one; its settings are what comes next."""
    slug = request.form.get("slug", "").strip()
    try:
        made = add_project(session, administrator(who), slug)
    except ValidationFailed as error:
        return _list(session, who, status=422, typed=slug[:64], faults=faults_of(error))
    return see(f"/projects/{made.slug}")


@blueprint.get("/projects/<slug>")
@with_session(Right.AGENTS_READ)
def project(session: Session, who: SignedIn, slug: str) -> Response:
    """What is set for one."""
    return _one(session, who, read_project(session, administrator(who), slug))


@blueprint.post("/projects/<slug>")
@with_session(Right.AGENTS_WRITE)
def change(session: Session, who: SignedIn, slug: str) -> Response:
    """Set what was changed in the form; nothing where another has set the same otherwise meanwhile."""
    admin, form = administrator(who), request.form
    found = read_project(session, admin, slug, locked=True)
    try:
        wanted = sent(form, _wanted(session, admin.tenant_id), _set_of(found))
        if wanted.crossed:
            return _crossed(session, who, found, wanted)
        if wanted.changed:
            change_project(session, admin, slug, wanted.changed)
    except ValidationFailed as error:
        return _one(session, who, found, status=422, faults=faults_of(error), typed=form)
    except RecipientRefused:
        said = "the tenant has no agent of this name that has a grant for the project"
        faults = {"unread_escalate_to": said}
        return _one(session, who, found, status=422, faults=faults, typed=form)
    return see(f"/projects/{found.slug}?set=yes")


def _crossed(session: Session, who: SignedIn, found: ProjectSettings, wanted: Sent) -> Response:
    """What he wants in the fields, what is set now beside those that another has set too."""
    now = _shown(session, administrator(who), found)
    told = now | {
        "on_quarantine": QUARANTINED[found.on_quarantine],
        "unread_after_seconds": f"{now['unread_after_seconds']} {now['unit']}"
        if found.unread_after_seconds
        else "never",
        "unread_escalate_to": now["unread_escalate_to"] or "the operators",
    }
    names = {*wanted.changed, *({"unit"} if "unread_after_seconds" in wanted.changed else ())}
    fields = now | {name: request.form.get(name, "")[:190] for name in names}
    return _one(session, who, found, status=409, faults=faults(wanted.crossed, told), fields=fields)


def _set_of(found: ProjectSettings) -> dict[str, Any]:
    """As `_wanted` has them."""
    return {
        "on_quarantine": found.on_quarantine,
        "unread_after_seconds": found.unread_after_seconds,
        "unread_escalate_to": found.unread_escalate_to,
    }


def _wanted(session: Session, tenant_id: bytes) -> dict[str, Any]:
    """What the form says. ValidationFailed, RecipientRefused."""
    form = request.form
    policy, after = form.get("on_quarantine", ""), form.get("unread_after_seconds", "").strip()
    if policy not in list(OnQuarantine):
        raise ValidationFailed.at("/on_quarantine", "choose one of the two")
    if after and not (after.isascii() and after.isdigit() and len(after) < 10):
        raise ValidationFailed.at("/unread_after_seconds", "must be a whole number, or nothing")
    told = form.get("unread_escalate_to", "").strip()
    escalate_to = OPERATORS
    if told:
        agent_id = agent_called(session, tenant_id, told[:190])
        if agent_id is None:
            raise RecipientRefused
        escalate_to = encode_id(Prefix.AGENT, agent_id)
    seconds = int(after) * UNITS.get(form.get("unit", ""), 1) if after else None
    return {
        "on_quarantine": OnQuarantine(policy),
        "unread_after_seconds": seconds,
        "unread_escalate_to": escalate_to,
    }


def _list(
    session: Session,
    who: SignedIn,
    *,
    status: int = 200,
    typed: str = "",
    faults: dict[str, str] | None = None,
) -> Response:
    admin = administrator(who)
    found = list_projects(session, admin, limit=PROJECTS, token=request.args.get("page"))
    return shell(
        "projects.html",
        session,
        who,
        here="projects",
        status=status,
        projects=found.projects,
        page_token=found.next_page_token,
        first="page" not in request.args,
        names=called(session, admin.tenant_id, [one.unread_escalate_to for one in found.projects]),
        typed=typed,
        faults=faults or {},
        may_change=may(who.operator.role, Right.AGENTS_WRITE),
    )


def _one(
    session: Session,
    who: SignedIn,
    found: ProjectSettings,
    *,
    status: int = 200,
    faults: dict[str, str] | None = None,
    fields: dict[str, str] | None = None,
    typed: MultiDict[str, str] | None = None,
) -> Response:
    """`fields`: what stands in the form; `typed`: that, and its marks, are as they came."""
    now = _shown(session, administrator(who), found)
    if typed is not None:
        fields = {name: typed.get(name, "")[:190] for name in now}
    return shell(
        "project.html",
        session,
        who,
        here="projects",
        status=status,
        project=found,
        told=now["unread_escalate_to"],
        fields=now if fields is None else fields,
        was=marks(_set_of(found)) if typed is None else marks_in(typed),
        faults=faults or {},
        set_now="set" in request.args,
        may_change=may(who.operator.role, Right.AGENTS_WRITE),
    )


def _shown(session: Session, admin: Administrator, found: ProjectSettings) -> dict[str, str]:
    """As the form shows what is set."""
    names = called(session, admin.tenant_id, [found.unread_escalate_to])
    number, unit = _in_units(found.unread_after_seconds)
    return {
        "on_quarantine": found.on_quarantine.value,
        "unread_after_seconds": number,
        "unit": unit,
        "unread_escalate_to": names.get(found.unread_escalate_to, ""),
    }


def _in_units(seconds: int | None) -> tuple[str, str]:
    """(`90`, `min`): in the largest unit that it is a whole number of."""
    if seconds is None:
        return "", "h"
    found = [unit for unit, length in UNITS.items() if seconds % length == 0]
    unit = found[-1] if found else "s"
    return str(seconds // UNITS.get(unit, 1)), unit
