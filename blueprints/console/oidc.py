"""Signing in through the identity provider: leaving for it, and what comes back.

One leaves by a form, so that no other site makes a browser leave, and over a page that goes on by
itself: browsers hold a form's redirects to `form-action`, and an identity provider has many hosts.
"""

from __future__ import annotations

from flask import Blueprint, Response, request
from werkzeug.exceptions import MethodNotAllowed, NotFound

from blueprints.access import public, states
from blueprints.console import cookies, return_path
from blueprints.console.oidc_words import words_of
from blueprints.console.pages import page, see
from blueprints.console.sessions import check, check_host, origin_of
from extensions import house
from restante.identity.oidc.arrivals import Fault, TurnedAway
from restante.identity.oidc.entrance import Entrance, Returned, Visit

blueprint = Blueprint("console_oidc", __name__)
WHICH = "/sign-in/which"


@blueprint.post("/sign-in/oidc")
@states(public("begins a sign-in at the identity provider"))
def leave() -> Response:
    """Go to the provider; `another`: as somebody else than it knows the browser as."""
    entrance = _entrance()
    visitor = cookies.read(request, cookies.VISITOR)
    check(request, visitor)
    another = bool(request.form.get("another"))
    return go(entrance, visitor, wanted=return_path.remembered(request), another=another)


@blueprint.get("/sign-in/oidc/return")
@states(public("the provider sends the browser back here"))
def come_back() -> Response:
    """In under a new cookie, whatever cookie came; or why not."""
    entrance = _entrance()
    check_host(request)
    if request.method == "HEAD":  # who only looks spends nothing
        raise MethodNotAllowed(["GET"])
    visit = _visit(cookies.read(request, cookies.VISITOR))
    told = {name: request.args.getlist(name) for name in ("state", "code", "error", "iss")}
    if any(len(values) > 1 for values in told.values()):  # RFC 6749, section 3.1
        told = {}
    state, code, error, issuer = (
        next(iter(told.get(name, ())), None) for name in ("state", "code", "error", "iss")
    )
    arrived = entrance.arrive(visit, Returned(state or "", code, error, issuer))
    if isinstance(arrived, TurnedAway):
        return refuse(arrived, entrance)
    answer = see(WHICH if arrived.several else arrived.return_path)
    cookies.give(answer, cookies.SESSION, arrived.token)
    cookies.take(answer, cookies.VISITOR)
    if not arrived.several:
        cookies.take(answer, cookies.NEXT)
    return answer


def go(
    entrance: Entrance,
    visitor: str | None,
    *,
    wanted: str,
    another: bool = False,
    anew: bool = False,
) -> Response:
    """The page that goes on to the provider, or why there is none to go to."""
    visitor = visitor or cookies.new_visitor()
    url = entrance.leave(_visit(visitor), return_path=wanted, another=another, anew=anew)
    if isinstance(url, TurnedAway):
        return refuse(url, entrance)
    answer = page("leaving.html", provider=entrance.name, url=url)
    cookies.give(answer, cookies.VISITOR, visitor)
    return answer


def refuse(turned: TurnedAway, entrance: Entrance) -> Response:
    """Why nobody was let in, and what to do."""
    words = words_of(turned)
    visitor = cookies.read(request, cookies.VISITOR) or cookies.new_visitor()
    answer = page(
        "oidc_refused.html",
        words.status,
        title=words.title,
        text=words.text,
        email=turned.email if words.shows_email else None,
        provider=entrance.name,
        another=words.shows_email,
        cookie=visitor,
    )
    cookies.give(answer, cookies.VISITOR, visitor)
    if turned.why is Fault.PROVIDER:
        answer.headers["Retry-After"] = "10"
    return answer


def _visit(visitor: str | None) -> Visit:
    return Visit(
        by=origin_of(request),
        browser=visitor,
        current=cookies.read(request, cookies.SESSION),
        user_agent=request.headers.get("User-Agent"),
    )


def _entrance() -> Entrance:
    found = house().entrance
    if found is None:
        raise NotFound
    return found
