"""Signing in by a one-time link, and signing out. A GET spends no link: scanners of mail open them."""

from __future__ import annotations

from flask import Blueprint, Response, request

from blueprints.access import public, states
from blueprints.console import cookies, return_path
from blueprints.console.pages import page, see
from blueprints.console.sessions import check, origin_of, with_session
from extensions import house
from restante.identity.failed_attempts import refuse_guessers
from restante.identity.sessions import SignedIn, end_session
from restante.identity.sign_in import limited, sign_in_by_link
from restante.identity.sign_in_links import Refusal, Refused, look_at_link
from restante.storage.transaction import Session

blueprint = Blueprint("console_sign_in", __name__)
_GONE = {Refusal.SPENT, Refusal.EXPIRED}


@blueprint.get("/sign-in")
@states(public("says how one gets a link"))
def how() -> Response:
    """The way to the identity provider, and to a link; `next`: where its reader was on his way to."""
    check(request, None)
    wanted = return_path.ours(request.args.get(return_path.FIELD))
    entrance, visitor = house().entrance, None
    if entrance is not None:
        visitor = cookies.read(request, cookies.VISITOR) or cookies.new_visitor()
    answer = page(
        "sign_in.html",
        cookie=visitor,
        provider=entrance and entrance.name,
        wanted=wanted and wanted.partition("?")[0],
    )
    if visitor is not None:
        cookies.give(answer, cookies.VISITOR, visitor)
    if wanted is not None:
        cookies.give(answer, cookies.NEXT, wanted, life=return_path.LIFE)
    return answer


@blueprint.get("/sign-in/<secret>")
@states(public("the link is the credential"))
def confirm(secret: str) -> Response:
    """Whom the link would let in, with one button."""
    check(request, None)

    def look(session: Session) -> Response:
        refuse_guessers(session, limited(request.remote_addr))
        found = look_at_link(session, secret)
        if isinstance(found, Refused):
            return _refused(found)
        visitor = cookies.read(request, cookies.VISITOR) or cookies.new_visitor()
        answer = page("confirm.html", operator=found, cookie=visitor)
        cookies.give(answer, cookies.VISITOR, visitor)
        return answer

    answer: Response = house().database.run(look)
    return answer


@blueprint.post("/sign-in/<secret>")
@states(public("the link is the credential"))
def take(secret: str) -> Response:
    """Spend the link, and begin a session under a new id whatever cookie came."""
    check(request, cookies.read(request, cookies.VISITOR))
    by, before = origin_of(request), cookies.read(request, cookies.SESSION)
    user_agent = request.headers.get("User-Agent")
    begun = house().database.run(
        lambda s: sign_in_by_link(s, secret, by=by, user_agent=user_agent, instead_of=before)
    )
    if isinstance(begun, Refused):
        return _refused(begun)
    answer = see(return_path.remembered(request))
    cookies.give(answer, cookies.SESSION, begun)
    cookies.take(answer, cookies.VISITOR)
    cookies.take(answer, cookies.NEXT)
    return answer


@blueprint.post("/sign-out")
@with_session()
def sign_out(session: Session, who: SignedIn) -> Response:
    """End the session, on the server too."""
    end_session(session, cookies.read(request, cookies.SESSION) or "", by=origin_of(request, who))
    answer = see("/signed-out")
    answer.headers["Clear-Site-Data"] = '"cache"'
    cookies.take(answer, cookies.SESSION)
    return answer


@blueprint.get("/signed-out")
@states(public("says that one is signed out"))
def signed_out() -> Response:
    """The end; where the provider has one of its own, the way there."""
    check(request, None)
    entrance = house().entrance
    return page(
        "signed_out.html",
        provider=entrance and entrance.name,
        sign_out_there=entrance and entrance.sign_out_url,
    )


def _refused(refused: Refused) -> Response:
    if refused.why is Refusal.DISABLED:
        return page("link_refused.html", 403, why=refused.why)
    return page("link_refused.html", 410 if refused.why in _GONE else 404, why=refused.why)
