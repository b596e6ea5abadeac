"""The page on which an operator lets an agent's device log in (RFC 8628), or refuses it.

Opening a link decides nothing and looks nothing up (sections 3.3.1 and 5.4): the code is sent by its
form, and whoever approves says that the device shows it. All forms work without scripts.
"""

from __future__ import annotations

from flask import Blueprint, Response, request

from blueprints.console import cookies
from blueprints.console.pages import page
from blueprints.console.scope_words import words_of
from blueprints.console.sessions import origin_of, with_session
from restante.errors import NotFound
from restante.identity.device_review import choices, review
from restante.identity.devices import Device, approve, deny, look_up
from restante.identity.logins import FAMILY_LIFETIME
from restante.identity.requested_scopes import InvalidScope
from restante.identity.roles import Right
from restante.identity.scopes import parse_scope
from restante.identity.sessions import SignedIn
from restante.identity.user_codes import as_shown
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, decode_id
from restante.storage.transaction import Session

blueprint = Blueprint("console_device", __name__)
_MOST_TYPED = 64
_NOBODY = bytes(16)
_NO_AGENT = "There is no such agent, or it is not active any more."
_NOT_TICKED = "Nothing was approved: say that the device shows exactly this code."


@blueprint.get("/device")
@with_session(Right.DEVICES_APPROVE)
def ask(session: Session, who: SignedIn) -> Response:
    """Which code the device shows; one that came with a link stands there already."""
    return _shown("device.html", who, typed=request.args.get("user_code", "")[:_MOST_TYPED])


@blueprint.post("/device")
@with_session(Right.DEVICES_APPROVE)
def look(session: Session, who: SignedIn) -> Response:
    """Which device that is, and what approving it would do."""
    return _looked_up(session, who)


@blueprint.post("/device/approve")
@with_session(Right.DEVICES_APPROVE)
def let_in(session: Session, who: SignedIn) -> Response:
    """Let it log in."""
    if request.form.get("same") != "yes":
        return _looked_up(session, who, fault=_NOT_TICKED)
    try:
        found = approve(
            session,
            who.operator,
            user_code=_typed(),
            principal_id=_picked(),
            by=origin_of(request, who),
        )
    except (InvalidScope, NotFound):
        # nothing was changed; the page says why it cannot be
        return _looked_up(session, who, status=409)
    return _unknown(who) if found is None else _decided(who, found)


@blueprint.post("/device/refuse")
@with_session(Right.DEVICES_APPROVE)
def refuse(session: Session, who: SignedIn) -> Response:
    """Tell it that it may not."""
    found = deny(session, who.operator, user_code=_typed(), by=origin_of(request, who))
    return _unknown(who) if found is None else _decided(who, found)


def _looked_up(
    session: Session, who: SignedIn, *, fault: str | None = None, status: int | None = None
) -> Response:
    found = look_up(session, _typed(), operator=who.operator, by=origin_of(request, who))
    tenant_id = who.operator.tenant_id
    if found is None or tenant_id is None:
        return _unknown(who)
    if found.decided:
        return _decided(who, found)
    status = status or (422 if fault else 200)
    agent = found.principal_id or _picked()
    if agent is None and not request.form.get("agent"):
        return _choice(session, who, tenant_id, found, status=status, fault=fault)
    try:
        seen = review(session, tenant_id, found, principal_id=agent or _NOBODY)
    except NotFound:
        return _choice(session, who, tenant_id, found, status=422, fault=_NO_AGENT)
    return _shown(
        "device_review.html",
        who,
        status,
        code=as_shown(_typed()),
        device=found,
        review=seen,
        picked=found.principal_id is None,
        gets=[words_of(scope) for scope in seen.gets],
        left_out=[words_of(scope) for scope in seen.left_out],
        keeps=FAMILY_LIFETIME,
        address=request.remote_addr,
        fault=fault,
    )


def _choice(
    session: Session,
    who: SignedIn,
    tenant_id: bytes,
    found: Device,
    *,
    status: int,
    fault: str | None,
) -> Response:
    """The device says of no agent that it is it: somebody has to say which it shall be."""
    named, after = request.form.get("named", "")[:190].strip(), request.form.get("after", "")[:190]
    return _shown(
        "device_agent.html",
        who,
        status,
        code=as_shown(_typed()),
        device=found,
        named=named,
        after=after,
        choices=choices(session, tenant_id, named=named, after=after),
        now=database_now(session),
        address=request.remote_addr,
        fault=fault,
    )


def _unknown(who: SignedIn) -> Response:
    return _shown("device.html", who, 404, typed=_typed(), unknown=True)


def _decided(who: SignedIn, found: Device) -> Response:
    scopes = [parse_scope(text) for text in (found.granted_scopes or "").split()]
    gets = [words_of(scope) for scope in scopes if scope is not None]
    return _shown("device_decided.html", who, device=found, gets=gets)


def _shown(template: str, who: SignedIn, status: int = 200, **shown: object) -> Response:
    cookie = cookies.read(request, cookies.SESSION)
    return page(template, status, signed_in=who, cookie=cookie, **shown)


def _typed() -> str:
    return request.form.get("user_code", "")[:_MOST_TYPED]


def _picked() -> bytes | None:
    return decode_id(Prefix.AGENT, request.form.get("agent", ""))
