"""What was typed into a form that is not carried out yet: kept for its session, out of every address."""

from __future__ import annotations

from collections.abc import Container

from flask import request
from werkzeug.datastructures import MultiDict

from blueprints.console.narrowing import FIELDS
from blueprints.console.return_path import came_from
from restante.identity.drafts import Draft, keep_draft, read_draft
from restante.identity.operators import Operator
from restante.identity.sessions import SignedIn
from restante.storage.transaction import Session

FIELD = "draft"
MOST_BYTES = 4 * 1024 * 1024
"""Of a form with a payload of the greatest size, each byte of it written as three."""
NOT_KEPT = frozenset({"csrf"})
TURNS = frozenset({"redrive", "amend", "discard"})
_QUARANTINE = "/quarantine"
_TURNED = frozenset({"patch", "why", "way", "force"})


def keep_form(session: Session, who: SignedIn | Operator, kept: Container[str]) -> str | None:
    """Keep the form that was sent, for `form_before`; its id. None: it has a field that is not `kept`."""
    fields = [
        (name, text)
        for name, texts in request.form.lists()
        if name not in NOT_KEPT
        for text in texts
    ]
    if any(name not in kept for name, _ in fields):
        return None
    draft = Draft(request.path, came_from(request), tuple(fields))
    return keep_draft(session, who, draft)


def keep_turned(session: Session, who: SignedIn, **more: str) -> str:
    """Keep what is the same for redriving, amending and discarding, for `typed_before`; its id."""
    fields = [(name, text) for name, text in request.form.items() if name in _TURNED]
    draft = Draft(_QUARANTINE, None, (*fields, *more.items()))
    return keep_draft(session, who, draft)


def keep_order(session: Session, who: Operator) -> str | None:
    """Where an order of quarantine goes on once he is signed in: what was typed, for which events."""
    verb = request.path.removeprefix(f"{_QUARANTINE}/")
    if verb not in TURNS:
        return None
    fields = [
        (name, text)
        for name, texts in request.values.lists()
        if name in _TURNED or name in FIELDS
        for text in texts
    ]
    draft = keep_draft(session, who, Draft(_QUARANTINE, None, tuple(fields)))
    return f"{request.path}?{FIELD}={draft}"


def typed_before(session: Session, who: SignedIn) -> MultiDict[str, str]:
    """What was kept of a form of quarantine that was sent: what was typed, and for which events."""
    draft = read_draft(session, who, request.args.get(FIELD, ""))
    kept = draft is not None and draft.action == _QUARANTINE
    return MultiDict(draft.fields if draft is not None and kept else ())
