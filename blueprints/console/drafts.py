"""What was typed into a form that is not carried out yet: kept for its session, out of every address."""

from __future__ import annotations

from collections.abc import Container, Mapping

from flask import Request, request

from blueprints.console import return_path
from extensions import house
from restante.identity.drafts import Draft, keep_draft, read_draft
from restante.identity.sessions import SignedIn
from restante.storage.transaction import Session

FIELD = "draft"
MOST_BYTES = 4 * 1024 * 1024
"""Of a form with a payload of the greatest size, each byte of it written as three."""
NOT_KEPT = frozenset({"csrf"})
TURNS = frozenset({"redrive", "amend", "discard"})
_QUARANTINE = "/quarantine"
_TURNED = frozenset({"patch", "why", "way", "force"})


def keep_form(session: Session, who: SignedIn, kept: Container[str]) -> str | None:
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


def came_from(asked: Request) -> str | None:
    """The page of ours that its form was on."""
    return return_path.ours((asked.referrer or "").removeprefix(house().settings.public_url))


def keep_turned(session: Session, who: SignedIn, **more: str) -> str:
    """Keep what is the same for redriving, amending and discarding, for `typed_before`; its id."""
    fields = [(name, text) for name, text in request.form.items() if name in _TURNED]
    draft = Draft(_QUARANTINE, None, (*fields, *more.items()))
    return keep_draft(session, who, draft)


def typed_before(session: Session, who: SignedIn) -> Mapping[str, str]:
    """What stands in a form of quarantine: as it was sent just now, or as it was kept."""
    if request.method == "POST":
        return request.form
    draft = read_draft(session, who, request.args.get(FIELD, ""))
    return dict(draft.fields) if draft is not None and draft.action == _QUARANTINE else {}
