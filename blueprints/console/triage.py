"""Redrive and discard of many: a dry run, how, why, then a job. Nothing goes that was not counted."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, request
from werkzeug.datastructures import MultiDict

from blueprints.console.drafts import FIELD, MOST_BYTES, TURNS, keep_turned, typed_before
from blueprints.console.form_keys import new_form_key, once
from blueprints.console.narrowing import ALL, COUNTED, Narrowing, check_address, narrowing
from blueprints.console.pages import see
from blueprints.console.quarantine import LISTED
from blueprints.console.sessions import with_session
from blueprints.console.shell import administrator, shell
from restante.errors import ValidationFailed
from restante.identity.administrators import Administrator
from restante.identity.called import called
from restante.identity.roles import Right, may
from restante.identity.sessions import SignedIn
from restante.inbox.inspection import inspect
from restante.inbox.triage import jobs
from restante.inbox.triage.causes import list_groups
from restante.inbox.triage.jobs import Action, Job, Order, SelectionChanged
from restante.inbox.triage.listing import COUNTED as COUNTED_EVENTS
from restante.inbox.triage.under_way import under_way
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, decode_id, encode_id
from restante.storage.transaction import Session

blueprint = Blueprint("console_triage", __name__)
MOST_REASON = 2_000
INBOXES = 6
"""So many are named of those that a job concerns."""
CHANGED = (
    "The events are no longer those that were counted, so nothing was done. "
    "This is what it would be now."
)
WAYS = {"first": 0.05, "spread": 0.05, "slow": 1.0, "now": 0.0}
"""Seconds between two events; `first`: one goes alone, the rest once it is completed."""


@blueprint.get("/quarantine/redrive")
@with_session(Right.EVENTS_REDRIVE)
def count_redrive(session: Session, who: SignedIn) -> Response:
    """What putting these back would do now."""
    return _counted(session, who, Action.REDRIVE)


@blueprint.post("/quarantine/redrive")
@with_session(Right.EVENTS_REDRIVE, most_bytes=MOST_BYTES)
def redrive(session: Session, who: SignedIn) -> Response:
    """Put back those that were counted."""
    return _start(session, who, Action.REDRIVE)


@blueprint.get("/quarantine/discard")
@with_session(Right.EVENTS_DISCARD)
def count_discard(session: Session, who: SignedIn) -> Response:
    """What giving these up would do now."""
    return _counted(session, who, Action.DISCARD)


@blueprint.post("/quarantine/discard")
@with_session(Right.EVENTS_DISCARD, most_bytes=MOST_BYTES)
def discard(session: Session, who: SignedIn) -> Response:
    """Give up those that were counted."""
    return _start(session, who, Action.DISCARD)


def _counted(session: Session, who: SignedIn, action: Action) -> Response:
    admin, typed = administrator(who), typed_before(session, who)
    chosen = asked_for(session, who, typed)
    try:
        dry = jobs.count(session, admin, _order(action, chosen))
    except ValidationFailed:
        return gone(session, who, action, status=404)
    if not dry.matched:  # no form for nothing; of a cause it is as if there never was one
        status = 404 if "cause" in chosen.fields else 200
        return gone(session, who, action, status=status, everything=ALL in chosen.fields)
    role = who.operator.role
    return shell(
        "triage.html",
        session,
        who,
        here="quarantine",
        action=action,
        chosen=chosen,
        dry=dry,
        **named(session, admin, chosen, dry),
        most_inboxes=INBOXES,
        reason=typed.get("why", "")[:MOST_REASON],
        way=way if (way := typed.get("way")) in WAYS else "first",
        patch=typed.get("patch", ""),
        form_key=new_form_key(),
        force="force" in typed,
        fault=typed.get("fault"),
        field=typed.get("field"),
        may_redrive=may(role, Right.EVENTS_REDRIVE),
        may_discard=may(role, Right.EVENTS_DISCARD),
    )


def gone(
    session: Session, who: SignedIn, action: str, *, status: int, everything: bool = False
) -> Response:
    """That of what was chosen nothing lies there; `everything`: all that does was."""
    return shell(
        "quarantine_gone.html",
        session,
        who,
        here="quarantine",
        status=status,
        action=action,
        everything=everything,
    )


def asked_for(session: Session, who: SignedIn, typed: MultiDict[str, str]) -> Narrowing:
    """Which events an address means, or what was kept for it; counted up to now where they were not yet.

    Raises Unclear where neither says which.
    """
    asked = request.args
    check_address(asked)
    admin = administrator(who)
    chosen = narrowing(session, admin, asked if any(name != FIELD for name in asked) else typed)
    return chosen if chosen.counted else chosen.counted_at(database_now(session))


def refused(
    session: Session, who: SignedIn, verb: str, fault: str, field: str = "", **more: str
) -> Response:
    """Back to the form, at an address of the same events, with all that was typed and what is wrong."""
    chosen = narrowing(session, administrator(who), request.form)
    draft = keep_turned(session, who, fault=fault, field=field, **more)
    counted = {COUNTED: ""} if fault == CHANGED else {}
    return see(f"/quarantine/{verb}{chosen.query(**counted, **{FIELD: draft})}")


def named(session: Session, admin: Administrator, chosen: Narrowing, dry: Job) -> dict[str, Any]:
    """The causes as people know them, what would go first, whose inboxes these are, what runs over them."""
    most = COUNTED_EVENTS if "cause" in chosen.fields else LISTED
    causes = [] if chosen.events else list_groups(session, admin, chosen.filter, most=most)
    running = [one for one in under_way(session, admin, chosen.chosen) if one.many]
    first = None
    if dry.first_event_id is not None:
        first = inspect(session, admin, decode_id(Prefix.EVENT, dry.first_event_id))
    ids = [agent_id for agent_id, _ in dry.inboxes[:INBOXES]]
    if first is not None:
        ids.append(first.recipient_id)
    names = called(session, admin.tenant_id, [*ids, *(one.job.actor_id for one in running)])
    return {
        "cause": causes[0] if causes and "cause" in chosen.fields else None,
        "causes": causes,
        "first": first,
        "names": names,
        "running": running,
    }


def turn(session: Session, who: SignedIn, **more: str) -> Response | None:
    """On to what `to` says, counted anew, with all that was typed; None: the form is to be carried out."""
    to = request.form.get("to")
    if to not in TURNS:
        return None
    chosen = narrowing(session, administrator(who), request.form)
    draft = keep_turned(session, who, **more)
    return see(f"/quarantine/{to}{chosen.query(**{COUNTED: '', FIELD: draft})}")


def _start(session: Session, who: SignedIn, action: Action) -> Response:
    admin, form = administrator(who), request.form
    if (turned := turn(session, who)) is not None:
        return turned
    reason = form.get("why", "").strip()
    if not reason or len(reason) > MOST_REASON:
        said = "Say why" if not reason else f"At most {MOST_REASON:,} characters"
        fault = f"{said}: it is kept with each event and in the audit. Nothing was done."
        return refused(session, who, action, fault, "why")
    force = action is Action.REDRIVE and form.get("force") == "yes"
    expected = number_in(form.get("matched" if force else "total", ""))
    if not force and expected == 0:
        fault = "None would go: all would run late or twice. Tick that, or leave them. Nothing was done."
        return refused(session, who, action, fault, "force")
    if action is Action.DISCARD and number_in(form.get("typed", "")) != expected:
        fault = "That is not the number of events. Nothing was done."
        return refused(session, who, action, fault, "typed")
    way = form.get("way", "first") if action is Action.REDRIVE else "now"
    if way not in WAYS:
        fault = "Choose how they go. Nothing was done."
        return refused(session, who, action, fault, "way")
    order = _order(
        action,
        narrowing(session, admin, form),
        reason=reason,
        force=force,
        stagger_seconds=WAYS[way],
        canary=way == "first",
        expected=-1 if expected is None else expected,
    )
    try:
        job_id = once(session, who, lambda: jobs.start(session, admin, order))
    except SelectionChanged:
        return refused(session, who, action, CHANGED)
    except ValidationFailed:
        return gone(session, who, action, status=404)
    return see(f"/quarantine/jobs/{encode_id(Prefix.JOB, job_id)}")


def _order(action: Action, chosen: Narrowing, **more: Any) -> Order:
    return Order(action=action, chosen=chosen.chosen, **{"reason": "", **more})


def number_in(text: str) -> int | None:
    """The number that was sent or typed; None: it is none."""
    plain = text.replace(",", "").replace("\N{NO-BREAK SPACE}", "").strip()
    return int(plain) if plain.isascii() and plain.isdigit() and len(plain) < 10 else None
