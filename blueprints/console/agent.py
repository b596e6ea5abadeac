"""One agent beside its inbox: what it holds, its streams, grants, callbacks, and who did what to it."""

from __future__ import annotations

from flask import Blueprint, Response, request

from blueprints.console.agent_shell import agent_page, line_of
from blueprints.console.callbacks import host_of
from blueprints.console.scope_cells import SHORT, cell_of
from blueprints.console.sessions import with_session
from blueprints.console.shell import administrator
from restante.audit.listing import list_entries
from restante.identity.called import called
from restante.identity.grant_list import EVERY, Granted
from restante.identity.grants import grants_of
from restante.identity.machine_list import Machine
from restante.identity.projects import projects_of
from restante.identity.roles import Right, may
from restante.identity.sessions import SignedIn
from restante.inbox.inbox_events import list_events
from restante.inbox.lifecycle import Status
from restante.signals.stream_list import list_streams
from restante.signals.streams import MOST_OF_AN_AGENT
from restante.storage.transaction import Session
from restante.webhooks.reviewing import list_for_review

blueprint = Blueprint("console_agent", __name__)
HELD = 25
CALLBACKS = 25
ENTRIES = 50


def granted(session: Session, agent: Machine) -> Granted:
    """An agent that was found, with its grants."""
    return Granted(agent.id, agent.name, agent.status, grants_of(session, agent.id))


@blueprint.get("/inboxes/<agent_id>/in-flight")
@with_session(Right.EVENTS_READ)
def in_flight(session: Session, who: SignedIn, agent_id: str) -> Response:
    """What it holds, and for how long still."""
    line = line_of(session, who, agent_id)
    held, token = list_events(
        session,
        administrator(who),
        line.agent,
        Status.CLAIMED,
        limit=HELD,
        token=request.args.get("page"),
    )
    return agent_page(
        "agent_in_flight.html",
        session,
        who,
        line,
        tab="in-flight",
        held=held,
        page_token=token,
        first="page" not in request.args,
    )


@blueprint.get("/inboxes/<agent_id>/streams")
@with_session(Right.EVENTS_READ)
def streams(session: Session, who: SignedIn, agent_id: str) -> Response:
    """Where it listens."""
    line = line_of(session, who, agent_id)
    return agent_page(
        "agent_streams.html",
        session,
        who,
        line,
        tab="streams",
        streams=list_streams(session, administrator(who), line.agent),
        most_streams=MOST_OF_AN_AGENT,
    )


@blueprint.get("/inboxes/<agent_id>/grants")
@with_session(Right.AGENTS_READ)
def grants(session: Session, who: SignedIn, agent_id: str) -> Response:
    """What it may do, by project."""
    line = line_of(session, who, agent_id)
    one = granted(session, line.agent)
    slugs = [EVERY, *sorted(projects_of(session, administrator(who).tenant_id))]
    cells = [cell_of(one, slug) for slug in slugs]
    return agent_page(
        "agent_grants.html",
        session,
        who,
        line,
        tab="grants",
        cells=[cell for cell in cells if cell.granted or cell.through],
        number=len(one.grants),
        short=SHORT,
        may_assign=may(who.operator.role, Right.GRANTS_WRITE),
    )


@blueprint.get("/inboxes/<agent_id>/callbacks")
@with_session(Right.CALLBACKS_READ)
def callbacks(session: Session, who: SignedIn, agent_id: str) -> Response:
    """Where it is told, or given its mail."""
    line = line_of(session, who, agent_id)
    page = list_for_review(session, administrator(who), limit=CALLBACKS, agent_id=line.agent.id)
    return agent_page(
        "agent_callbacks.html",
        session,
        who,
        line,
        tab="callbacks",
        callbacks=page.callbacks,
        host_of=host_of,
    )


@blueprint.get("/inboxes/<agent_id>/history")
@with_session(Right.AUDIT_READ)
def history(session: Session, who: SignedIn, agent_id: str) -> Response:
    """What was done to it, newest first, from the audit."""
    line, admin = line_of(session, who, agent_id), administrator(who)
    page = list_entries(
        session,
        admin.tenant_id,
        limit=ENTRIES,
        token=request.args.get("page"),
        target=line.agent.public_id,
    )
    return agent_page(
        "agent_history.html",
        session,
        who,
        line,
        tab="history",
        entries=page.entries,
        page_token=page.next_page_token,
        first="page" not in request.args,
        names=called(session, admin.tenant_id, [entry.actor_id for entry in page.entries]),
    )
