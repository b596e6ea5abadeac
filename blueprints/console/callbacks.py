"""Callbacks: what waits for approval first, and one of them with all that is known and may be done."""

from __future__ import annotations

from urllib.parse import urlsplit

from flask import Blueprint, Response, request

from blueprints.console.callback_strip import strip
from blueprints.console.challenge_words import REASONS, seen_lines
from blueprints.console.faults import Unclear, sentence
from blueprints.console.form_keys import new_form_key
from blueprints.console.narrowing import NONE_LIKE_THAT
from blueprints.console.sessions import with_session
from blueprints.console.shell import administrator, shell
from restante.audit.listing import list_entries
from restante.identity.called import called
from restante.identity.roles import Right, may
from restante.identity.sessions import SignedIn
from restante.inbox.inbox_list import MOST, read_inbox
from restante.inbox.lifecycle import Status as EventStatus
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, encode_id
from restante.storage.transaction import Session
from restante.webhooks.approval import REASON_CHARACTERS
from restante.webhooks.attempts_list import list_attempts
from restante.webhooks.callbacks import Callback, Mode, read_one
from restante.webhooks.reviewing import list_for_review
from restante.webhooks.standing import standings
from restante.webhooks.states import Status

blueprint = Blueprint("console_callbacks", __name__)
CALLBACKS = 25
ATTEMPTS = 15
ENTRIES = 12
STATUSES = tuple(status for status in Status if status is not Status.REMOVED)
WAITS = Status.PENDING_APPROVAL


def host_of(found: Callback) -> str:
    """The host that a callback calls, as it stands in its URL."""
    return urlsplit(found.url).hostname or found.url


@blueprint.get("/callbacks")
@with_session(Right.CALLBACKS_READ)
def listed(session: Session, who: SignedIn) -> Response:
    """Those that wait for approval, then a page of the others; or those of one state."""
    admin, asked = administrator(who), request.args
    wanted = next((one for one in STATUSES if one == asked.get("state", "")), None)
    if asked.get("state") and wanted is None:
        raise Unclear(sentence({"state": NONE_LIKE_THAT}), there="/callbacks")
    first = "page" not in asked
    waiting = None
    if wanted is None and first:
        waiting = list_for_review(session, admin, limit=CALLBACKS, status=WAITS)
    page = list_for_review(
        session,
        admin,
        limit=CALLBACKS,
        token=asked.get("page"),
        status=wanted,
        waiting=wanted is not None,
    )
    return shell(
        "callbacks.html",
        session,
        who,
        here="callbacks",
        waits=[] if waiting is None else waiting.callbacks,
        more_wait=waiting is not None and waiting.next_page_token is not None,
        found=page.callbacks,
        page_token=page.next_page_token,
        first=first,
        wanted=wanted,
        statuses=STATUSES,
        host_of=host_of,
        may_decide=may(who.operator.role, Right.CALLBACKS_WRITE),
        reasons=REASONS,
    )


@blueprint.get("/callbacks/<callback_id>")
@with_session(Right.CALLBACKS_READ)
def callback(session: Session, who: SignedIn, callback_id: str) -> Response:
    """One: its way, what its challenge saw, what to decide, what was tried."""
    return show(session, who, callback_id)


def show(
    session: Session,
    who: SignedIn,
    callback_id: str,
    *,
    status: int = 200,
    fault: str | None = None,
    secret: str | None = None,
    typed: str = "",
) -> Response:
    """Its page. `fault`: what was not done and why; `secret`: a new one, told this once."""
    admin, now = administrator(who), database_now(session)
    found = read_one(session, admin, callback_id)
    agent_id = encode_id(Prefix.AGENT, found.agent_id)
    line = read_inbox(session, admin, agent_id)
    attempts, token = list_attempts(
        session, admin, callback_id, limit=ATTEMPTS, token=request.args.get("page")
    )
    history = list_entries(session, admin.tenant_id, limit=ENTRIES, target=callback_id)
    standing = standings(session, [found.agent_id]).get(found.agent_id)
    reached = () if standing is None else standing.projects(found.mode, found.projects)
    return shell(
        "callback.html",
        session,
        who,
        here="callbacks",
        status=status,
        one=found,
        host=host_of(found),
        agent_id=agent_id,
        line=line,
        pending=line.counts[EventStatus.PENDING],
        most=MOST,
        strip=strip(found, now),
        form_key=new_form_key(),
        lines=seen_lines(found, now),
        deliver=found.mode is Mode.DELIVER,
        reached=[project.slug for project in reached],
        path=urlsplit(found.url).path or "/",
        attempts=attempts,
        page_token=token,
        first="page" not in request.args,
        history=history.entries,
        more_history=history.next_page_token is not None,
        names=called(session, admin.tenant_id, [entry.actor_id for entry in history.entries]),
        may_decide=may(who.operator.role, Right.CALLBACKS_WRITE),
        waiting_next=_next(session, who, found),
        most_reason=REASON_CHARACTERS,
        fault=fault,
        secret=secret,
        typed=typed,
    )


def _next(session: Session, who: SignedIn, found: Callback) -> str | None:
    """Another one that waits for approval, where this one does."""
    if found.status is not WAITS:
        return None
    page = list_for_review(session, administrator(who), limit=CALLBACKS, status=WAITS)
    ids = [one.public_id for one in page.callbacks]
    if found.public_id not in ids:
        return ids[0] if ids else None
    at = ids.index(found.public_id)
    around = [*ids[at + 1 :], *ids[:at]]
    return around[0] if around else None
