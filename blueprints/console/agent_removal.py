"""Removing an agent: what it has and what becomes of that, counted; why; its name typed; then it is gone."""

from __future__ import annotations

from flask import Blueprint, Response, request

from blueprints.console.agent_shell import line_of
from blueprints.console.pages import see
from blueprints.console.sessions import with_session
from blueprints.console.shell import administrator, shell
from extensions import house
from restante.coordination.assignment_list import COUNTED, count_held
from restante.errors import NotFound
from restante.identity.grants import grants_of
from restante.identity.machine_credentials import list_credentials
from restante.identity.machine_list import MachineStatus
from restante.identity.machine_status import set_status
from restante.identity.principal import PrincipalKind
from restante.identity.roles import Right
from restante.identity.sessions import SignedIn
from restante.inbox.inbox_list import MOST
from restante.storage.transaction import Session
from restante.webhooks.reviewing import list_for_review

blueprint = Blueprint("console_agent_removal", __name__)
MOST_REASON = 300
"""It is told in the audit behind the agent's name."""
LISTED = 50


@blueprint.get("/inboxes/<agent_id>/remove")
@with_session(Right.AGENTS_WRITE)
def describe(session: Session, who: SignedIn, agent_id: str) -> Response:
    """What it would mean."""
    return _page(session, who, agent_id)


@blueprint.post("/inboxes/<agent_id>/remove")
@with_session(Right.AGENTS_WRITE)
def remove(session: Session, who: SignedIn, agent_id: str) -> Response:
    """For good."""
    reason = request.form.get("why", "").strip()
    agent = line_of(session, who, agent_id).agent
    if not 0 < len(reason) <= MOST_REASON:
        fault = f"Say why, in at most {MOST_REASON} characters. Nothing was done."
        return _page(session, who, agent_id, status=422, fault=fault, field="why")
    if request.form.get("typed", "").split() != agent.name.split():  # HTML shows spaces as one
        fault = "That is not its name. Nothing was done."
        return _page(session, who, agent_id, status=422, fault=fault, field="typed")
    admin, kind = administrator(who), PrincipalKind.AGENT
    changed = set_status(session, admin, kind, agent_id, MachineStatus.REMOVED, reason=reason)
    return see(f"/inboxes/{changed.public_id}")


def _page(
    session: Session,
    who: SignedIn,
    agent_id: str,
    *,
    status: int = 200,
    fault: str | None = None,
    field: str | None = None,
) -> Response:
    admin, settings = administrator(who), house().settings
    line = line_of(session, who, agent_id)
    if line.agent.status is MachineStatus.REMOVED:
        raise NotFound
    credentials = list_credentials(session, admin, PrincipalKind.AGENT, agent_id, limit=LISTED)
    webhooks = list_for_review(session, admin, limit=LISTED, agent_id=line.agent.id)
    return shell(
        "agent_removal.html",
        session,
        who,
        here="inboxes",
        status=status,
        line=line,
        agent=line.agent,
        most=MOST,
        held=count_held(session, admin, line.agent.id),
        most_held=COUNTED,
        grants=len(grants_of(session, line.agent.id)),
        credentials=len(credentials.credentials),
        webhooks=len(webhooks.callbacks),
        retention_days=settings.retention_days,
        keeps=settings.retention_unsettled == "keep",
        reason=request.form.get("why", "")[:MOST_REASON],
        most_reason=MOST_REASON,
        fault=fault,
        field=field,
    )
