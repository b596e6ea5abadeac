"""One event: what happened to it and why, its payload when it is asked for, and the thread it is of."""

from __future__ import annotations

from flask import Blueprint, Response, make_response

from blueprints.console.laid_out import MOST, laid_out
from blueprints.console.pages import HEADERS, protect
from blueprints.console.sessions import with_session
from blueprints.console.shell import administrator, shell
from blueprints.console.story import corrected_by, story
from restante.errors import NotFound
from restante.identity.called import called
from restante.identity.roles import Right, may
from restante.identity.sessions import SignedIn
from restante.inbox.inspection import Brief, inspect, read_payload, thread
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, decode_id
from restante.storage.transaction import Session

blueprint = Blueprint("console_event", __name__)
THREAD = 20


@blueprint.get("/events/<event_id>")
@with_session(Right.EVENTS_READ)
def event(session: Session, who: SignedIn, event_id: str) -> Response:
    """Its page, without the payload."""
    return _event(session, who, event_id)


@blueprint.post("/events/<event_id>/payload")
@with_session(Right.EVENTS_READ)
def payload(session: Session, who: SignedIn, event_id: str) -> Response:
    """Its page with the payload: that it was shown is in the audit, so no link leads here."""
    found = read_payload(session, administrator(who), decode_id(Prefix.EVENT, event_id))
    return _event(session, who, event_id, payload=found)


@blueprint.post("/events/<event_id>/raw")
@with_session(Right.EVENTS_READ)
def raw(session: Session, who: SignedIn, event_id: str) -> Response:
    """The payload as a file, byte for byte."""
    found = read_payload(session, administrator(who), decode_id(Prefix.EVENT, event_id))
    if found is None:
        raise NotFound
    answer = make_response(found)
    answer.headers.update(HEADERS)
    answer.headers["Content-Type"] = "application/json"
    # the id alone: no text of others is in a header
    answer.headers["Content-Disposition"] = f'attachment; filename="{event_id}.json"'
    return protect(answer)


def _event(
    session: Session, who: SignedIn, event_id: str, *, payload: bytes | None = None
) -> Response:
    admin = administrator(who)
    found = inspect(session, admin, decode_id(Prefix.EVENT, event_id))
    correlation = found.envelope["correlation_id"]
    others: list[Brief] = []
    more = False
    if correlation is not None:
        others, more = thread(session, admin, correlation, limit=THREAD)
    told = story(found, database_now(session))
    ids = [found.recipient_id, *(one.recipient_id for one in others), *(e.who for e in told)]
    role = who.operator.role
    return shell(
        "event.html",
        session,
        who,
        here="inboxes",
        event=found,
        story=told,
        corrected_by=corrected_by(found),
        payload=None if payload is None else laid_out(payload),
        cut=payload is not None and len(payload) > MOST,
        most=MOST,
        thread=others,
        more_of_thread=more,
        names=called(session, admin.tenant_id, ids),
        may_redrive=may(role, Right.EVENTS_REDRIVE),
        may_discard=may(role, Right.EVENTS_DISCARD),
    )
