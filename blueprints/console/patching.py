"""Amend many by one merge patch: what it is, what it would make of them, how, why; then a job."""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from flask import Blueprint, Response, request

from blueprints.console.amend import diff_of, wrong_with
from blueprints.console.drafts import FIELD, MOST_BYTES, keep_turned, typed_before
from blueprints.console.form_keys import made_before, new_form_key, once
from blueprints.console.laid_out import laid_out
from blueprints.console.narrowing import ALL, Narrowing, narrowing
from blueprints.console.pages import see
from blueprints.console.sessions import refuse, with_session
from blueprints.console.shell import administrator, shell
from blueprints.console.triage import (
    CHANGED,
    INBOXES,
    MOST_REASON,
    WAYS,
    asked_for,
    gone,
    named,
    number_in,
    refused,
    turn,
)
from extensions import house
from restante.errors import NotFound, ValidationFailed
from restante.identity.administrators import Administrator
from restante.identity.roles import Right, RightMissing
from restante.identity.sessions import SignedIn
from restante.inbox.inspection import read_patched
from restante.inbox.merge_patch import named_twice
from restante.inbox.redaction import MARK
from restante.inbox.triage import jobs
from restante.inbox.triage.jobs import Action, Job, Order, SelectionChanged
from restante.inbox.triage.patching import NotPatched, check_may_write
from restante.storage.ids import Prefix, encode_id
from restante.storage.transaction import Session

blueprint = Blueprint("console_patching", __name__)
EMPTY = "{\n  \n}"
UNSEEN = (
    "Nothing was done: what changes was changed since it was checked. This is what it would do now."
)
_REDACTED = re.compile(f"{MARK}([^{MARK}]*){MARK}")


@blueprint.get("/quarantine/amend")
@with_session(Right.EVENTS_REDRIVE)
def describe(session: Session, who: SignedIn) -> Response:
    """Which events, and room for what changes in each; once that was checked, what it would do."""
    return _page(session, who)


@blueprint.post("/quarantine/amend")
@with_session(Right.EVENTS_REDRIVE, most_bytes=MOST_BYTES)
def amend_many(session: Session, who: SignedIn) -> Response:
    """Checked, or done; `step` says which. Only the second changes anything but the audit."""
    form = request.form
    again = {"checked": "yes"} if "seen" in form and form.get("to") == "amend" else {}
    if (turned := turn(session, who, **again)) is not None:
        return turned
    return _go(session, who) if form.get("step") == "go" else _check(session, who)


def _go(session: Session, who: SignedIn) -> Response:
    form, admin = request.form, administrator(who)
    if (job_id := made_before(session, who)) is not None:
        return see(f"/quarantine/jobs/{encode_id(Prefix.JOB, job_id)}")
    reason, way = form.get("why", "").strip(), form.get("way", "")
    fault, field = "", ""
    if not 0 < len(reason) <= MOST_REASON:
        fault, field = f"Say why, in at most {MOST_REASON:,} characters. Nothing was done.", "why"
    elif way not in WAYS:
        fault, field = "Choose how they go. Nothing was done.", "way"
    elif form.get("seen") != _mark(form):
        fault = UNSEEN
    if fault or _wrong(_typed(form)) is not None:
        return refused(session, who, "amend", fault, field, checked="yes")
    expected = number_in(form.get("total", ""))
    order = _order(
        narrowing(session, admin, form),
        patch=_typed(form).encode(),
        reason=reason,
        force=_force(form),
        stagger_seconds=WAYS[way],
        canary=way == "first",
        expected=-1 if expected is None else expected,
    )
    try:
        job_id = once(session, who, lambda: jobs.start(session, admin, order))
    except SelectionChanged:
        return refused(session, who, "amend", CHANGED, checked="yes")
    except ValidationFailed:
        return gone(session, who, "amend", status=404)
    except RightMissing:  # which the page says, and the audit
        return _check(session, who)
    return see(f"/quarantine/jobs/{encode_id(Prefix.JOB, job_id)}")


def _check(session: Session, who: SignedIn) -> Response:
    """On to what it would do, or what is wrong with it, at an address that one can come back to."""
    chosen = narrowing(session, administrator(who), request.form)
    draft = keep_turned(session, who, checked="yes")
    return see(f"/quarantine/amend{chosen.query(**{FIELD: draft})}")


def _page(session: Session, who: SignedIn) -> Response:
    admin, before, status = administrator(who), typed_before(session, who), 200
    checked = "checked" in before
    text, force = _typed(before), _force(before)
    wrong = _wrong(text) if checked else None
    if checked and wrong is None:
        try:
            check_may_write(session, admin, text.encode())
        except RightMissing as missing:
            wrong, status = refuse(session, who, missing).detail, 403
    checked = checked and wrong is None
    patch = text.encode() if checked else None
    chosen = asked_for(session, who, before)
    try:
        dry = jobs.count(session, admin, _order(chosen, patch=patch, force=force))
    except ValidationFailed:
        return gone(session, who, "amend", status=404)
    if not dry.matched:
        status = 404 if status == 200 and "cause" in chosen.fields else status
        return gone(session, who, "amend", status=status, everything=ALL in chosen.fields)
    way = before.get("way", "first")
    return shell(
        "patch.html",
        session,
        who,
        here="quarantine",
        status=422 if wrong and status == 200 else status,
        chosen=chosen,
        dry=dry,
        **named(session, admin, chosen, dry),
        most_inboxes=INBOXES,
        typed=text or EMPTY,
        seen=_mark(before),
        force=force,
        goes=dry.total - len(dry.fit.left_out if dry.fit else ()),
        left=dry.matched - (dry.assigned or 0) - (dry.removed or 0) - dry.total,
        checked=checked,
        fault=wrong or before.get("fault"),
        field="patch" if wrong else before.get("field"),
        fit=dry.fit,
        **(_sample(session, admin, dry, patch) if patch is not None else {}),
        reason=before.get("why", "")[:MOST_REASON],
        way=way if way in WAYS else "first",
        form_key=new_form_key(),
    )


def _sample(session: Session, admin: Administrator, dry: Job, patch: bytes) -> dict[str, Any]:
    """What the patch would make of the first that it fits, as lines that change."""
    first = None if dry.fit is None else dry.fit.first
    if first is None:
        return {}
    try:
        one = read_patched(session, admin, first, patch)
    except (NotFound, NotPatched):  # it has left since it was counted
        return {}
    before, after = (
        _REDACTED.sub(r"[redacted: \1]", laid_out(text)) for text in (one.before, one.after)
    )
    return {
        "diff": list(diff_of(before, after)),
        "sample": encode_id(Prefix.EVENT, first),
        "redacted": bool(one.rules),
    }


def _order(chosen: Narrowing, *, patch: bytes | None, **more: Any) -> Order:
    return Order(
        action=Action.PATCH, chosen=chosen.chosen, merge_patch=patch, **{"reason": "", **more}
    )


def _mark(form: Mapping[str, str]) -> str:
    """Of what was checked, so that nothing goes that was changed since."""
    said = f"{_typed(form)}{_force(form)}"
    return sha256(said.encode("utf-8", "surrogatepass")).hexdigest()


def _force(form: Mapping[str, str]) -> bool:
    return form.get("force") == "yes"


def _typed(form: Mapping[str, str]) -> str:
    return form.get("patch", "").replace("\r\n", "\n")


def _wrong(text: str) -> str | None:
    most_bytes = house().settings.payload_limit_bytes
    wrong = wrong_with(text, most_bytes=most_bytes, what="merge patch")
    if wrong is None and (twice := named_twice(text.encode())) is not None:
        return f"It names the member {twice[:64]!r} twice in one object."
    return wrong
