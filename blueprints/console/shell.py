"""What stands around every page of a tenant: where one is, where one may go, what someone must act on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flask import Response, request

from blueprints.console import cookies
from blueprints.console.pages import page
from blueprints.console.sessions import origin_of
from restante.identity.administrators import Administrator
from restante.identity.roles import Right, may
from restante.identity.sessions import SignedIn
from restante.inbox.triage.listing import COUNTED, count_quarantined
from restante.storage.clock import database_now
from restante.storage.transaction import Session


@dataclass(frozen=True, slots=True)
class Place:
    """An entry of the rail, for who has the right."""

    name: str
    title: str
    path: str
    icon: str
    right: Right


PLACES = (
    Place("overview", "Overview", "/overview", "overview", Right.EVENTS_READ),
    Place("inboxes", "Inboxes", "/inboxes", "inboxes", Right.EVENTS_READ),
    Place("quarantine", "Quarantine", "/quarantine", "quarantine", Right.QUARANTINE_READ),
    Place("device", "Device login", "/device", "device", Right.DEVICES_APPROVE),
)


def shell(
    template: str,
    session: Session,
    who: SignedIn,
    *,
    here: str,
    status: int = 200,
    **shown: Any,
) -> Response:
    """The answer with a page in its shell; `here`: which entry of the rail it belongs to."""
    held = count_quarantined(session, administrator(who))
    return page(
        template,
        status,
        signed_in=who,
        cookie=cookies.read(request, cookies.SESSION),
        here=here,
        places=[place for place in PLACES if may(who.operator.role, place.right)],
        waiting=min(held, COUNTED),
        waiting_capped=held > COUNTED,
        now=database_now(session),
        address=request.full_path.removesuffix("?") if request.method == "GET" else request.path,
        **shown,
    )


def administrator(who: SignedIn) -> Administrator:
    """Who is signed in, as the verbs want him."""
    return Administrator.of_operator(who.operator, origin_of(request, who), anew=who.recent)
