"""One event: what happened to it and why, its payload when it is asked for, and the thread it is of."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from urllib.parse import quote

from flask import Blueprint, Response, make_response, request

from blueprints.console.laid_out import MOST, laid_out, lines
from blueprints.console.pages import HEADERS, protect, see
from blueprints.console.sessions import refuse, with_session
from blueprints.console.shell import administrator, shell
from blueprints.console.story import corrected_by, story
from blueprints.console.triage import MOST_REASON
from restante.coordination.assignments import TYPE as ASSIGNED
from restante.errors import EventFinal, NotFound, RestanteError
from restante.identity.called import called
from restante.identity.roles import Right, RightMissing, may
from restante.identity.sessions import SignedIn
from restante.identity.tenant_settings import redacted_for
from restante.inbox.cancel import cancel_for
from restante.inbox.inspection import Content, Inspected, inspect, read_content, read_payload
from restante.inbox.lifecycle import FINAL, Status
from restante.inbox.thread import Threaded, thread_of
from restante.inbox.triage.listing import COUNTED, count_of_cause
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
    """Its page with payload and result: that it was shown is in the audit, so no link leads here."""
    found = read_content(session, administrator(who), decode_id(Prefix.EVENT, event_id))
    return _event(session, who, event_id, content=found)


@blueprint.get("/events/<event_id>/cancel")
@with_session(Right.EVENTS_READ)
def ask_to_cancel(session: Session, who: SignedIn, event_id: str) -> Response:
    """Its page with what cancelling it would do, where that may be done."""
    return _event(session, who, event_id, asks=True)


@blueprint.get("/events/<event_id>/payload")
@with_session(Right.EVENTS_READ)
def back(session: Session, who: SignedIn, event_id: str) -> Response:
    """Where a form led: whoever comes there by Back, or reloads its address, finds the event."""
    inspect(
        session, administrator(who), decode_id(Prefix.EVENT, event_id)
    )  # what is not there is 404
    return see(f"/events/{quote(event_id)}")


@blueprint.post("/events/<event_id>/raw")
@with_session(Right.EVENTS_READ)
def raw(session: Session, who: SignedIn, event_id: str) -> Response | RestanteError:
    """The payload as a file, byte for byte; for who may see all of it."""
    try:
        found = read_payload(session, administrator(who), decode_id(Prefix.EVENT, event_id))
    except RightMissing as missing:
        return refuse(session, who, missing)
    if found is None:
        raise NotFound
    answer = make_response(found)
    answer.headers.update(HEADERS)
    answer.headers["Content-Type"] = "application/json"
    # the id alone: no text of others is in a header
    answer.headers["Content-Disposition"] = f'attachment; filename="{event_id}.json"'
    return protect(answer)


@blueprint.post("/events/<event_id>/cancel")
@with_session(Right.EVENTS_CANCEL)
def cancel(session: Session, who: SignedIn, event_id: str) -> Response:
    """Cancel it; who holds it is asked to stop, and his ack wins."""
    reason = request.form.get("why", "").strip()
    if not 0 < len(reason) <= MOST_REASON:
        fault = f"Say why, in at most {MOST_REASON:,} characters. Nothing was done."
        return _event(session, who, event_id, status=422, fault=fault)
    try:
        cancel_for(session, administrator(who), decode_id(Prefix.EVENT, event_id), reason)
    except EventFinal as final:
        fault = f"It is {final.members['event_status']} already. Nothing was done."
        return _event(session, who, event_id, status=409, fault=fault)
    return see(f"/events/{event_id}")


def _event(
    session: Session,
    who: SignedIn,
    event_id: str,
    *,
    content: Content | None = None,
    status: int = 200,
    fault: str | None = None,
    asks: bool = False,
) -> Response:
    admin = administrator(who)
    found = inspect(session, admin, decode_id(Prefix.EVENT, event_id))
    correlation = found.envelope["correlation_id"]
    others: list[Threaded] = []
    more = False
    if correlation is not None:
        others, more = thread_of(session, admin, correlation, limit=THREAD)
    told = story(found, database_now(session))
    ids: list[str | None] = [found.recipient_id, *(one.recipient_id for one in others)]
    ids += [entry.who for one in told for entry in (one, *one.each)]
    role, whole = who.operator.role, not redacted_for(session, admin)
    quarantined = found.status is Status.QUARANTINED
    alike = 0
    if quarantined and found.failure_signature is not None:
        alike = count_of_cause(session, admin, found.failure_signature)
    return shell(
        "event.html",
        session,
        who,
        here="inboxes",
        status=status,
        fault=fault,
        asks=asks,
        event=found,
        story=told,
        corrected_by=corrected_by(found),
        thread=others,
        more_of_thread=more,
        failed_at=datetime.fromisoformat(found.last_error["at"].removesuffix("Z"))
        if found.last_error
        else None,
        alike=min(alike, COUNTED) - 1,
        alike_capped=alike > COUNTED,
        caused_by=_event_id(found.envelope["causation_id"]),
        assignment=_assignment_id(found),
        names=called(session, admin.tenant_id, ids),
        whole=whole,
        may_redrive=may(role, Right.EVENTS_REDRIVE),
        may_discard=may(role, Right.EVENTS_DISCARD),
        may_cancel=may(role, Right.EVENTS_CANCEL) and not quarantined and found.status not in FINAL,
        **_shown(found, content),
    )


def _shown(event: Inspected, content: Content | None) -> dict[str, Any]:
    """Of what it says and what came of it, as much as a page takes."""
    if content is None:
        return {"payload": None, "result": None, "rules": (), "cut": False, "most": MOST}
    error = event.last_error["message"] if event.last_error else None
    payload = content.payload
    text = None
    if payload is not None:
        text = laid_out(payload, None if content.rules else MOST)
        # what is redacted is laid out whole, then cut: a value must not end before its end
        text = text[:MOST] if content.rules else text
    return {
        "payload": None if text is None else lines(text, rules=content.rules, error=error),
        "result": None if content.result is None else lines(laid_out(content.result)),
        "rules": content.rules,
        "cut": payload is not None and len(payload) > MOST,
        "most": MOST,
    }


def _event_id(text: str | None) -> str | None:
    return text if text and decode_id(Prefix.EVENT, text) is not None else None


def _assignment_id(event: Inspected) -> str | None:
    """The assignment that an event is of: its correlation."""
    text: str | None = event.envelope["correlation_id"]
    is_work = event.type == ASSIGNED and text and decode_id(Prefix.ASSIGNMENT, text) is not None
    return text if is_work else None
