"""What stands around every page of a tenant: where one is, where one may go, what someone must act on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flask import Response, request

from blueprints.console import cookies
from blueprints.console.pages import page
from blueprints.console.return_path import LONG, page_of
from blueprints.console.sessions import origin_of
from restante.coordination.assignment_list import COUNTED as UNROUTABLE
from restante.coordination.assignment_list import count_unroutable
from restante.identity.administrators import Administrator
from restante.identity.roles import Right, may
from restante.identity.sessions import SignedIn
from restante.inbox.fire import fire
from restante.inbox.triage.listing import count_quarantined
from restante.storage.clock import database_now
from restante.storage.transaction import Session
from restante.webhooks.reviewing import COUNTED as TO_APPROVE
from restante.webhooks.reviewing import count_callbacks


@dataclass(frozen=True, slots=True)
class Place:
    """An entry of the rail, for who has the right."""

    name: str
    title: str
    path: str
    icon: str
    right: Right
    key: str = ""
    """What goes there after `g`."""
    group: str = ""
    """Under which heading of the rail."""


@dataclass(frozen=True, slots=True)
class Number:
    """What stands beside an entry of the rail: so many that someone must act on, of `what`."""

    count: int
    most: int
    what: str


RAIL = 1_000
"""The frame of a page counts what lies in quarantine to here; the overview counts on."""

PLACES = (
    Place("overview", "Overview", "/overview", "overview", Right.EVENTS_READ, key="o"),
    Place("inboxes", "Inboxes", "/inboxes", "inboxes", Right.EVENTS_READ, key="i"),
    Place("events", "Events", "/events", "events", Right.EVENTS_READ, key="e"),
    Place("quarantine", "Quarantine", "/quarantine", "quarantine", Right.QUARANTINE_READ, key="q"),
    Place("callbacks", "Callbacks", "/callbacks", "callbacks", Right.CALLBACKS_READ, key="c"),
    Place("scopes", "Scopes", "/scopes", "scopes", Right.AGENTS_READ, key="s"),
    Place("assignments", "Assignments", "/assignments", "assignments", Right.EVENTS_READ, key="a"),
    Place("rooms", "Rooms", "/rooms", "rooms", Right.EVENTS_READ, key="r"),
    Place("device", "Device login", "/device", "device", Right.DEVICES_APPROVE),
    Place("projects", "Projects", "/projects", "projects", Right.AGENTS_READ, group="Tenant"),
    Place("services", "Services", "/services", "services", Right.AGENTS_READ, group="Tenant"),
    Place("members", "Members", "/members", "members", Right.OPERATORS_READ, group="Tenant"),
    Place("settings", "Settings", "/settings", "settings", Right.SETTINGS_WRITE, group="Tenant"),
    Place("audit", "Audit", "/audit", "audit", Right.AUDIT_READ, group="Tenant"),
    Place("platform", "Platform", "/platform", "platform", Right.TENANTS_READ, group="This server"),
)


def shell(
    template: str,
    session: Session,
    who: SignedIn,
    *,
    here: str,
    status: int = 200,
    acting: Mapping[str, Any] | None = None,
    **shown: Any,
) -> Response:
    """The answer with a page in its shell; `here`: which entry of the rail it belongs to.

    `acting`: what `to_act_on` has told a page that wanted to know it itself.
    """
    return page(
        template,
        status,
        signed_in=who,
        cookie=cookies.read(request, cookies.SESSION),
        here=here,
        places=[place for place in PLACES if may(who.operator.role, place.right)],
        **(to_act_on(session, who, RAIL) if acting is None else acting),
        asked_anew=request.method == "GET",
        now=database_now(session),
        address=_address(),
        **shown,
    )


def _address() -> str:
    """Of this page, or, where a form was answered, of one that belongs to it and can be got."""
    if request.method == "GET":
        return request.full_path.removesuffix("?")
    return page_of(request, most=LONG)


def to_act_on(session: Session, who: SignedIn, most: int) -> dict[str, Any]:
    """What somebody of the tenant should see to, counted to `most`; who is the platform's sees to nothing."""
    if not may(who.operator.role, Right.EVENTS_READ):
        return {
            "numbers": {},
            "waiting": 0,
            "waiting_capped": False,
            "fire": None,
            "may_search": False,
        }
    admin = administrator(who)
    burning = fire(session, admin, most=most)
    # what one cause has too many of, all have
    whole = burning is None or burning.count <= most
    held = count_quarantined(session, admin, most=most) if whole else most + 1
    decides = may(who.operator.role, Right.CALLBACKS_WRITE)
    to_approve = count_callbacks(session, admin) if decides else 0
    return {
        "numbers": {
            "quarantine": Number(held, most, "events"),
            "callbacks": Number(to_approve, TO_APPROVE, "to approve"),
            "assignments": Number(count_unroutable(session, admin), UNROUTABLE, "that nobody has"),
        },
        "waiting": min(held, most),
        "waiting_capped": held > most,
        "fire": burning,
        "may_search": True,
    }


def administrator(who: SignedIn) -> Administrator:
    """Who is signed in, as the verbs want him."""
    return Administrator.of_operator(who.operator, origin_of(request, who), anew=who.recent)
