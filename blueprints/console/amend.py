"""Amend a quarantined event: its payload in an editor, what is wrong by line and column, a diff, a reason."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

import orjson
from flask import Blueprint, Response, request

from blueprints.console.drafts import MOST_BYTES
from blueprints.console.form_keys import made_before, new_form_key, once
from blueprints.console.laid_out import laid_out
from blueprints.console.pages import see
from blueprints.console.sessions import refuse, with_session
from blueprints.console.shell import administrator, shell
from blueprints.console.triage import MOST_REASON
from blueprints.raw_json import DEEPEST
from extensions import house
from restante.errors import RestanteError, ValidationFailed
from restante.identity.administrators import Administrator
from restante.identity.called import called
from restante.identity.roles import Right, RightMissing
from restante.identity.sessions import SignedIn
from restante.inbox.inspection import Inspected, inspect, read_payload
from restante.inbox.lifecycle import Status
from restante.inbox.triage import jobs
from restante.inbox.triage.jobs import Action, Order
from restante.storage.ids import Prefix, decode_id, encode_id
from restante.storage.transaction import Session

blueprint = Blueprint("console_amend", __name__)
_SHOWN = 400


@blueprint.post("/events/<event_id>/amend")
@with_session(Right.EVENTS_REDRIVE, most_bytes=MOST_BYTES)
def amend(session: Session, who: SignedIn, event_id: str) -> Response | RestanteError:
    """Opened, checked, or done; `step` says which. Only the last changes anything but the audit."""
    admin, raw = administrator(who), decode_id(Prefix.EVENT, event_id)
    event = inspect(session, admin, raw)
    step, typed = request.form.get("step"), request.form.get("payload", "")
    typed = typed.replace("\r\n", "\n")
    reason = request.form.get("why", "").strip()
    if step == "go" and (job_id := made_before(session, who)) is not None:
        return see(f"/quarantine/jobs/{encode_id(Prefix.JOB, job_id)}")
    if (closed := _closed(session, who, event)) is not None:
        return closed
    try:
        before = laid_out(read_payload(session, admin, raw) or b"{}", most=None)
    except RightMissing as missing:
        return refuse(session, who, missing)
    order = Order(
        action=Action.AMEND,
        chosen=[raw],
        reason=reason,
        force=request.form.get("force") == "yes",
        amended_payload=typed.encode("utf-8", "surrogatepass"),
    )
    needs_force = _needs_force(session, admin, order)
    fault = None
    if step not in ("check", "go"):
        typed = before
    else:
        fault = wrong_with(typed, most_bytes=house().settings.payload_limit_bytes)
        if fault is None and step == "go" and not 0 < len(reason) <= MOST_REASON:
            fault = f"Say why, in at most {MOST_REASON:,} characters: it is kept with the event."
        elif fault is None and step == "go" and needs_force and not order.force:
            fault = (
                "It would run late, or a second time: say that it is to be amended all the same."
            )
    if step == "go" and fault is None:
        try:
            job_id = once(session, who, lambda: jobs.start(session, admin, order))
        except ValidationFailed:
            return shell("quarantine_gone.html", session, who, here="quarantine", status=409)
        return see(f"/quarantine/jobs/{encode_id(Prefix.JOB, job_id)}")
    return shell(
        "amend.html",
        session,
        who,
        here="quarantine",
        status=422 if fault else 200,
        event=event,
        typed=typed,
        form_key=new_form_key(),
        why=reason,
        fault=fault,
        needs_force=needs_force,
        force=order.force,
        checked=step in ("check", "go"),
        diff=list(diff_of(before, typed)),
        names=called(session, admin.tenant_id, [event.recipient_id]),
    )


def _closed(session: Session, who: SignedIn, event: Inspected) -> Response | None:
    """What is shown in the place of an event that is not amended; None: it may be."""
    lies = event.status is Status.QUARANTINED and event.superseded_by is None
    if lies and not event.assigned:
        return None
    page = "quarantine_gone.html"
    return shell(page, session, who, here="quarantine", status=409, assigned=lies)


def _needs_force(session: Session, admin: Administrator, order: Order) -> bool:
    try:
        return not jobs.count(session, admin, replace(order, force=False)).total
    except ValidationFailed:  # it has left, which its job will say
        return False


def wrong_with(text: str, *, most_bytes: int, what: str = "payload") -> str | None:
    """What keeps the text from being a payload, or a patch of one, and where; None: nothing."""
    if len(text.encode("utf-8", "surrogatepass")) > most_bytes:
        return f"A {what} may have {most_bytes:,} bytes; this has more."
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        return f"Line {error.lineno}, column {error.colno}: {error.msg}."
    except RecursionError:
        return f"It is nested deeper than {DEEPEST} levels."
    if not isinstance(value, dict):
        return f"Line 1, column 1: a {what} is a JSON object, {{ … }}."
    if _depth(value) > DEEPEST:
        return f"It is nested deeper than {DEEPEST} levels."
    try:
        orjson.loads(text)
    except (orjson.JSONDecodeError, UnicodeEncodeError) as error:
        return f"It is no JSON: {error}."
    return None


def _depth(value: object) -> int:
    deepest, left = 0, [(value, 1)]
    while left:
        one, depth = left.pop()
        inner = one.values() if isinstance(one, dict) else one if isinstance(one, list) else None
        if inner is not None:
            deepest = max(deepest, depth)
            left += [(child, depth + 1) for child in inner]
    return deepest


def diff_of(before: str, after: str) -> Iterator[tuple[str, str]]:
    """(added, removed or nothing, line) of the lines that change and those around them.

    A comma alone, since something follows now or nothing does any more, is no change.
    """
    old, new = before.split("\n"), after.split("\n")
    matcher = difflib.SequenceMatcher(
        None, [line.rstrip(",") for line in old], [line.rstrip(",") for line in new]
    )
    shown = 0
    for tag, from_old, to_old, from_new, to_new in chain(*matcher.get_grouped_opcodes(2)):
        changes = tag != "equal"
        lines = [("removed", f"-{line}") for line in old[from_old:to_old] if changes]
        kind, sign = ("added", "+") if changes else ("", " ")
        for kind, line in [*lines, *((kind, f"{sign}{line}") for line in new[from_new:to_new])]:
            if shown == _SHOWN:
                yield "", "…"
                return
            shown += 1
            yield kind, line[:_SHOWN]
