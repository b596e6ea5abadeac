"""One's own sessions: where one is signed in, and how to end it there."""

from __future__ import annotations

from flask import Blueprint, Response, request

from blueprints.console import cookies
from blueprints.console.pages import page, see
from blueprints.console.sessions import origin_of, with_session
from restante.identity.sessions import SignedIn, list_sessions, revoke_session
from restante.storage.transaction import Session

blueprint = Blueprint("console_account", __name__)


@blueprint.get("/account")
@with_session()
def account(session: Session, who: SignedIn) -> Response:
    """Who one is, and one's sessions."""
    return page(
        "account.html",
        signed_in=who,
        cookie=cookies.read(request, cookies.SESSION),
        sessions=list_sessions(session, who.operator.id),
    )


@blueprint.post("/account/sessions/<session_id>/revoke")
@with_session()
def revoke(session: Session, who: SignedIn, session_id: str) -> Response:
    """End one of one's own sessions."""
    revoke_session(session, who.operator, session_id, by=origin_of(request, who))
    return see("/account")
