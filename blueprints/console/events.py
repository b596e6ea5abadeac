"""Events of a tenant, the newest first, and what was unread for too long. Reading changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from urllib.parse import urlencode

from flask import Blueprint, Response, request

from blueprints.console.instants import NO_INSTANT, instant_in
from blueprints.console.narrowing import HOURS, NONE_LIKE_THAT, NOTHING
from blueprints.console.sessions import with_session
from blueprints.console.shell import administrator, shell
from restante.identity.called import agent_called, called
from restante.identity.principal import Project
from restante.identity.projects import projects_of
from restante.identity.roles import Right
from restante.identity.sessions import SignedIn
from restante.inbox.escalation_list import list_unread
from restante.inbox.event_list import EXAMINED, INBOXES, EventPage, Wanted, list_tenant_events
from restante.inbox.lifecycle import Status
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, encode_id
from restante.storage.transaction import Session

blueprint = Blueprint("console_events", __name__)
EVENTS = 25
STATES = tuple(status for status in Status if status is not Status.SCHEDULED)
FIELDS = ("inbox", "type", "project", "state", "hours", "since")


@blueprint.get("/events")
@with_session(Right.EVENTS_READ)
def listed(session: Session, who: SignedIn) -> Response:
    """A page of them, by what stands in the address."""
    admin = administrator(who)
    asked = {name: text for name in FIELDS if (text := request.args.get(name, "").strip()[:190])}
    projects = projects_of(session, admin.tenant_id)
    wanted, faults = _wanted(session, admin.tenant_id, asked, projects), _faults(asked)
    page = EventPage([], None, cut=False, some=False)
    if not faults:
        token = request.args.get("page")
        page = list_tenant_events(session, admin, wanted, limit=EVENTS, token=token)
    named = None if wanted.recipient_id in (None, NOTHING) else wanted.recipient_id
    return shell(
        "events.html",
        session,
        who,
        here="events",
        page=page,
        asked=asked,
        faults=faults,
        query=urlencode(asked),
        first="page" not in request.args,
        named=named and encode_id(Prefix.AGENT, named),
        names=called(session, admin.tenant_id, [row.recipient_id for row in page.events]),
        projects=sorted(projects),
        states=STATES,
        hours=HOURS,
        looked_at=EXAMINED,
        merged=INBOXES,
    )


@blueprint.get("/events/unread")
@with_session(Right.EVENTS_READ)
def unread(session: Session, who: SignedIn) -> Response:
    """Of what the operators are told that nobody has read it for as long as its project says."""
    admin = administrator(who)
    found, token = list_unread(session, admin, limit=EVENTS, token=request.args.get("page"))
    return shell(
        "unread.html",
        session,
        who,
        here="events",
        rows=found,
        page_token=token,
        first="page" not in request.args,
        names=called(session, admin.tenant_id, [row.recipient for row in found]),
        projects={one.id: slug for slug, one in projects_of(session, admin.tenant_id).items()},
    )


def _wanted(
    session: Session, tenant_id: bytes, asked: Mapping[str, str], projects: Mapping[str, Project]
) -> Wanted:
    """What is not there means nothing at all."""
    recipient_id = project_id = since = None
    if "inbox" in asked:
        recipient_id = agent_called(session, tenant_id, asked["inbox"]) or NOTHING
    if "project" in asked:
        known = projects.get(asked["project"])
        project_id = NOTHING if known is None else known.id
    if "since" in asked:
        since = instant_in(asked["since"])
    elif asked.get("hours") in HOURS:
        since = database_now(session) - timedelta(hours=int(asked["hours"]))
    return Wanted(
        recipient_id=recipient_id,
        project_id=project_id,
        type=asked.get("type"),
        status=next((one for one in STATES if one == asked.get("state")), None),
        since=since,
    )


def _faults(asked: Mapping[str, str]) -> dict[str, str]:
    """Of the fields that mean nothing, which narrow to nothing at all."""
    faults = {}
    if asked.get("state", STATES[0]) not in STATES:
        faults["state"] = NONE_LIKE_THAT
    if asked.get("hours", "1") not in HOURS:
        faults["hours"] = NONE_LIKE_THAT
    if "since" in asked and instant_in(asked["since"]) is None:
        faults["since"] = NO_INSTANT
    return faults
