"""One's own sessions: where one is signed in, and how to end it there."""

from __future__ import annotations

from flask import Blueprint, Response, request

from blueprints.console import cookies
from blueprints.console.pages import page, see
from blueprints.console.sessions import origin_of, with_session
from restante.identity.roles import Right, may
from restante.identity.sessions import SignedIn, list_sessions, revoke_others, revoke_session
from restante.storage.clock import database_now
from restante.storage.transaction import Session

blueprint = Blueprint("console_account", __name__)


@blueprint.get("/account")
@with_session()
def account(session: Session, who: SignedIn) -> Response:
    """Who one is, and one's sessions, this one first."""
    found = list_sessions(session, who.operator.id)
    return page(
        "account.html",
        signed_in=who,
        cookie=cookies.read(request, cookies.SESSION),
        # a sort keeps the order of the others
        sessions=sorted(found, key=lambda one: one.session_id != who.session_id),
        now=database_now(session),
        may_approve=may(who.operator.role, Right.DEVICES_APPROVE),
    )


@blueprint.post("/account/sessions/<session_id>/revoke")
@with_session()
def revoke(session: Session, who: SignedIn, session_id: str) -> Response:
    """End one of one's own sessions."""
    revoke_session(session, who.operator, session_id, by=origin_of(request, who))
    return see("/account")


@blueprint.post("/account/sessions/revoke-others")
@with_session(anew=True)
def revoke_all_others(session: Session, who: SignedIn) -> Response:
    """End all of one's own sessions but the one in which one asks for it."""
    revoke_others(session, who, by=origin_of(request, who))
    return see("/account")
