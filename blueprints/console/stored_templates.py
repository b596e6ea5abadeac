"""Templates of scopes: sets of verbs that always are there, and those that the tenant keeps under a name."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, request

from blueprints.console.faults import faults_of
from blueprints.console.pages import see
from blueprints.console.scope_cells import SHORT
from blueprints.console.scope_changes import previewed
from blueprints.console.scope_templates import TEMPLATES
from blueprints.console.sessions import with_session
from blueprints.console.shell import administrator, shell
from restante.errors import NotFound, ValidationFailed
from restante.identity.called import agent_called, called
from restante.identity.grant_list import EVERY
from restante.identity.grants import grants_of
from restante.identity.machine_list import MachineStatus, read_machine
from restante.identity.principal import PrincipalKind
from restante.identity.projects import projects_of
from restante.identity.roles import Right, may
from restante.identity.scope_templates import (
    MOST_RULES,
    Rule,
    add_template,
    list_templates,
    read_template,
    remove_template,
    rules_like,
)
from restante.identity.scopes import Verb
from restante.identity.sessions import SignedIn
from restante.storage.ids import Prefix, encode_id
from restante.storage.transaction import Session

blueprint = Blueprint("console_stored_templates", __name__)
AGENT = PrincipalKind.AGENT
ROWS = 4
"""So many stay empty under those that are filled in."""
MOST_AGENTS = 20
MOST_BYTES = 64 * 1024


@blueprint.get("/scopes/templates")
@with_session(Right.AGENTS_READ)
def listed(session: Session, who: SignedIn) -> Response:
    """Those of the tenant, then those that are always there."""
    admin = administrator(who)
    stored = list_templates(session, admin)
    return shell(
        "scopes_templates.html",
        session,
        who,
        here="scopes",
        stored=stored,
        templates=TEMPLATES,
        agent=request.args.get("agent", "")[:190],
        names=called(session, admin.tenant_id, [one.created_by for one in stored]),
        **_shown(who),
    )


@blueprint.get("/scopes/templates/new")
@with_session(Right.GRANTS_WRITE)
def describe(session: Session, who: SignedIn) -> Response:
    """A name and rules; those of an agent are filled in where one is named."""
    rules: list[Rule] = []
    if agent := request.args.get("agent"):
        found = read_machine(session, administrator(who), AGENT, agent)
        if found.status is MachineStatus.REMOVED:
            raise NotFound
        rules = rules_like(grants_of(session, found.id))
    return _form(session, who, rules)


@blueprint.post("/scopes/templates/new")
@with_session(Right.GRANTS_WRITE, most_bytes=MOST_BYTES)
def keep(session: Session, who: SignedIn) -> Response:
    """Keep it under its name."""
    rules = _rules()
    if request.form.get("step") == "more":
        return _form(session, who, rules)
    try:
        named = {verb for row in range(MOST_RULES) for verb in request.form.getlist(f"verb-{row}")}
        if not named <= {*Verb}:
            raise ValidationFailed.at("/rules", "there is no such verb")
        made = add_template(
            session, administrator(who), request.form.get("name", "").strip(), rules
        )
    except ValidationFailed as error:
        return _form(session, who, rules, status=422, faults=faults_of(error))
    return see(f"/scopes/templates/{made.public_id}")


@blueprint.get("/scopes/templates/<template_id>")
@with_session(Right.AGENTS_READ)
def template(session: Session, who: SignedIn, template_id: str) -> Response:
    """One: what it gives where, and to whom it is applied."""
    return _one(session, who, template_id)


@blueprint.post("/scopes/templates/<template_id>/apply")
@with_session(Right.GRANTS_WRITE, most_bytes=MOST_BYTES)
def apply(session: Session, who: SignedIn, template_id: str) -> Response:
    """What would change by it, and who loses what; nothing is saved by that."""
    admin = administrator(who)
    found = read_template(session, admin, template_id)
    wanted = list(dict.fromkeys(filter(None, map(str.strip, _agents().splitlines()))))
    if not 1 <= len(wanted) <= MOST_AGENTS:
        fault = f"Name 1 to {MOST_AGENTS} agents, one a line."
        return _one(session, who, template_id, status=422, fault=fault)
    slugs, changes = sorted(projects_of(session, admin.tenant_id)), []
    for text in wanted:
        raw = agent_called(session, admin.tenant_id, text)
        named = text if raw is None else encode_id(Prefix.AGENT, raw)
        try:
            machine = read_machine(session, admin, AGENT, named)
            if machine.status is MachineStatus.REMOVED:
                raise NotFound
        except NotFound:
            fault = f"There is no agent {text[:190]}. Nothing was changed."
            return _one(session, who, template_id, status=422, fault=fault)
        held = grants_of(session, machine.id)
        alone = request.form.get("alone") == "yes"
        changes += found.changes(machine.public_id, held, slugs, alone=alone)
    return previewed(session, who, sorted(changes), why=f"template {found.name}")


@blueprint.post("/scopes/templates/<template_id>/remove")
@with_session(Right.GRANTS_WRITE)
def remove(session: Session, who: SignedIn, template_id: str) -> Response:
    """Forget it; nobody's scopes change."""
    remove_template(session, administrator(who), template_id)
    return see("/scopes/templates")


def _one(
    session: Session,
    who: SignedIn,
    template_id: str,
    *,
    status: int = 200,
    fault: str | None = None,
) -> Response:
    admin = administrator(who)
    found = read_template(session, admin, template_id)
    slugs = sorted(projects_of(session, admin.tenant_id))
    return shell(
        "scopes_template.html",
        session,
        who,
        here="scopes",
        status=status,
        kept=found,
        means={
            rule.pattern: [slug for slug in (EVERY, *slugs) if rule.means(slug)]
            for rule in found.rules
        },
        agents=_agents(),
        alone="alone" in request.form,
        fault=fault,
        most_agents=MOST_AGENTS,
        names=called(session, admin.tenant_id, [found.created_by]),
        **_shown(who),
    )


def _form(
    session: Session,
    who: SignedIn,
    rules: list[Rule],
    *,
    status: int = 200,
    faults: dict[str, str] | None = None,
) -> Response:
    rows = [*rules, *(Rule("", ()) for _ in range(ROWS))][:MOST_RULES]
    return shell(
        "scopes_template_new.html",
        session,
        who,
        here="scopes",
        status=status,
        rows=rows,
        more=len(rules) + ROWS < MOST_RULES,
        name=request.form.get("name", "")[:190],
        faults=faults or {},
        slugs=sorted(projects_of(session, administrator(who).tenant_id)),
        **_shown(who),
    )


def _rules() -> list[Rule]:
    """Those rows in which something is filled in."""
    form, found = request.form, []
    for row in range(MOST_RULES):
        pattern = form.get(f"pattern-{row}", "").strip()
        verbs = form.getlist(f"verb-{row}")
        if pattern or verbs:
            found.append(Rule(pattern, tuple(verb for verb in Verb if verb.value in verbs)))
    return found


def _agents() -> str:
    return request.values.get("agents", "")[:4_000]


def _shown(who: SignedIn) -> dict[str, Any]:
    may_change = may(who.operator.role, Right.GRANTS_WRITE)
    return {"short": SHORT, "may_change": may_change, "editable": may_change and who.recent}
