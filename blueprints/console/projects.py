"""Projects: the labels that scopes are written for, and what is set for each."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, request

from blueprints.console.faults import faults_of
from blueprints.console.pages import see
from blueprints.console.sessions import with_session
from blueprints.console.shell import administrator, shell
from restante.errors import RecipientRefused, ValidationFailed
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
    """Set it."""
    admin, form = administrator(who), request.form
    found = read_project(session, admin, slug)
    try:
        change_project(session, admin, slug, _wanted(session, admin.tenant_id))
    except ValidationFailed as error:
        return _one(session, who, found, status=422, faults=faults_of(error), typed=form)
    except RecipientRefused:
        said = "the tenant has no agent of this name that has a grant for the project"
        faults = {"unread_escalate_to": said}
        return _one(session, who, found, status=422, faults=faults, typed=form)
    return see(f"/projects/{found.slug}?set=yes")


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
    typed: Any = None,
) -> Response:
    admin = administrator(who)
    names = called(session, admin.tenant_id, [found.unread_escalate_to])
    number, unit = _in_units(found.unread_after_seconds)
    now = {
        "on_quarantine": found.on_quarantine.value,
        "unread_after_seconds": number,
        "unit": unit,
        "unread_escalate_to": names.get(found.unread_escalate_to, ""),
    }
    return shell(
        "project.html",
        session,
        who,
        here="projects",
        status=status,
        project=found,
        told=names.get(found.unread_escalate_to),
        fields=now if typed is None else {name: typed.get(name, "")[:190] for name in now},
        faults=faults or {},
        set_now="set" in request.args,
        may_change=may(who.operator.role, Right.AGENTS_WRITE),
    )


def _in_units(seconds: int | None) -> tuple[str, str]:
    """(`90`, `min`): in the largest unit that it is a whole number of."""
    if seconds is None:
        return "", "h"
    found = [unit for unit, length in UNITS.items() if seconds % length == 0]
    unit = found[-1] if found else "s"
    return str(seconds // UNITS.get(unit, 1)), unit
