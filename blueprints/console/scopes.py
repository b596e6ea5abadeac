"""Scopes: who may do what, by agent and project; one agent's as a form; what was assigned, and why."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, request

from blueprints.console.scope_cells import KEYS, SHORT, cell_of
from blueprints.console.scope_history import assigned
from blueprints.console.scope_templates import BY_NAME, TEMPLATES
from blueprints.console.sessions import with_session
from blueprints.console.shell import administrator, shell
from restante.audit.actions import Action
from restante.audit.listing import list_entries
from restante.errors import NotFound
from restante.identity.called import called
from restante.identity.grant_list import EVERY, Granted, list_granted
from restante.identity.grants import grants_of
from restante.identity.machine_list import MachineStatus, read_machine
from restante.identity.principal import PrincipalKind
from restante.identity.projects import projects_of
from restante.identity.roles import Right, may
from restante.identity.scopes import Verb
from restante.identity.sessions import SignedIn
from restante.storage.transaction import Session

blueprint = Blueprint("console_scopes", __name__)
AGENTS = 15
COLUMNS = 8
ROWS = 40
"""Projects in an agent's form."""
ENTRIES = 50


@blueprint.get("/scopes")
@with_session(Right.AGENTS_READ)
def matrix(session: Session, who: SignedIn) -> Response:
    """A page of agents, and as many projects as fit beside each other."""
    admin, asked = administrator(who), request.args
    slugs = sorted(projects_of(session, admin.tenant_id))
    begins = asked.get("name", "").strip()[:190]
    project = asked["project"] if asked.get("project") in slugs else None
    verb = asked.get("verb", type=Verb)
    agents, token = list_granted(
        session,
        admin,
        limit=AGENTS,
        token=asked.get("page"),
        begins=begins,
        project=project,
        verb=verb,
    )
    begin = asked.get("from", "")
    rest = [project] if project else [slug for slug in slugs if slug >= begin]
    columns = [EVERY, *rest[:COLUMNS]]
    applied = asked.get("applied", "")
    return shell(
        "scopes.html",
        session,
        who,
        here="scopes",
        agents=[(one, [cell_of(one, slug) for slug in columns]) for one in agents],
        columns=columns,
        next_column=rest[COLUMNS] if rest[COLUMNS:] else None,
        first_column=not begin or project is not None,
        begin=begin,
        slugs=slugs,
        begins=begins,
        project=project,
        verb=verb,
        verbs=list(Verb),
        page_token=token,
        first="page" not in asked,
        applied=int(applied) if applied.isascii() and applied.isdigit() else None,
        **_shown(who),
    )


@blueprint.get("/scopes/history")
@with_session(Right.AUDIT_READ)
def history(session: Session, who: SignedIn) -> Response:
    """What was assigned and withdrawn, newest first."""
    admin, agent = administrator(who), request.args.get("agent") or None
    page = list_entries(
        session,
        admin.tenant_id,
        limit=ENTRIES,
        token=request.args.get("page"),
        action=Action.GRANT_ASSIGN,
        target=agent,
    )
    found = assigned(page.entries)
    ids = [text for one in found for text in (one.agent, one.actor)]
    return shell(
        "scopes_history.html",
        session,
        who,
        here="scopes",
        entries=found,
        page_token=page.next_page_token,
        first="page" not in request.args,
        agent=agent,
        names=called(session, admin.tenant_id, [*ids, agent]),
    )


@blueprint.get("/scopes/<agent_id>")
@with_session(Right.AGENTS_READ)
def agent(session: Session, who: SignedIn, agent_id: str) -> Response:
    """One agent's, as a form; a template of the address is ticked there, and nothing is saved by that."""
    admin, asked = administrator(who), request.args
    machine = read_machine(session, admin, PrincipalKind.AGENT, agent_id)
    if machine.status is MachineStatus.REMOVED:
        raise NotFound
    one = Granted(machine.id, machine.name, machine.status, grants_of(session, machine.id))
    slugs = sorted(projects_of(session, admin.tenant_id))
    begin = asked.get("from", "")
    rest = [slug for slug in slugs if slug >= begin]
    template = BY_NAME.get(asked.get("template", ""))
    project = asked.get("project", "")
    cells = [cell_of(one, slug) for slug in [EVERY, *rest[:ROWS]]]
    return shell(
        "scopes_agent.html",
        session,
        who,
        here="scopes",
        agent=one,
        cells=cells,
        ticked={
            cell.project: template.verbs
            if template is not None and cell.project == project
            else cell.granted
            for cell in cells
        },
        chosen=template,
        project=project,
        slugs=slugs,
        next_row=rest[ROWS] if rest[ROWS:] else None,
        begin=begin,
        **_shown(who),
    )


def _shown(who: SignedIn) -> dict[str, Any]:
    may_change = may(who.operator.role, Right.GRANTS_WRITE)
    return {
        "templates": TEMPLATES,
        "short": SHORT,
        "keys": KEYS,
        "may_change": may_change,
        "editable": may_change and who.recent,
    }
