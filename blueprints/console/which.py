"""One person who is an operator of several tenants chooses as which he goes on."""

from __future__ import annotations

from flask import Blueprint, Response, request

from blueprints.console import cookies, return_path
from blueprints.console.pages import page, see
from blueprints.console.sessions import origin_of, with_session
from restante.identity.oidc.arrivals import go_on_as, other_operators
from restante.identity.sessions import SignedIn
from restante.storage.transaction import Session

blueprint = Blueprint("console_which", __name__)


@blueprint.get("/sign-in/which")
@with_session()
def choose(session: Session, who: SignedIn) -> Response:
    """Who one is now, and who else one is."""
    return page(
        "which.html",
        signed_in=who,
        cookie=cookies.read(request, cookies.SESSION),
        others=other_operators(session, who),
        wanted=return_path.remembered(request),
    )


@blueprint.post("/sign-in/which")
@with_session()
def change(session: Session, who: SignedIn) -> Response:
    """Another session, as that operator; this one ends."""
    token = go_on_as(session, who, request.form.get("operator", ""), by=origin_of(request, who))
    answer = see(return_path.remembered(request))
    cookies.give(answer, cookies.SESSION, token)
    cookies.take(answer, cookies.NEXT)
    return answer
