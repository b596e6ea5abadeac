"""Views of the console: the address, the form's origin and token, the session, the right; then the view."""

from __future__ import annotations

import functools
import hmac
from collections.abc import Callable
from urllib.parse import urlsplit

from flask import Request, Response, request

from blueprints.access import signed_in, states
from blueprints.console import cookies
from blueprints.console.pages import see
from blueprints.request_ids import request_id
from extensions import house
from restante.audit.actions import ActorKind
from restante.audit.entries import Actor, Origin
from restante.errors import RestanteError
from restante.identity.roles import Right, require
from restante.identity.sessions import SignedIn, resume_session
from restante.storage.transaction import Session

View = Callable[..., Response]
SIGN_IN = "/sign-in"
CSRF_FIELD = "csrf"
MOST_BYTES = 16 * 1024
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}


class WrongHost(RestanteError):
    """This server is asked under another name than its own."""


class ForeignForm(RestanteError):
    """The form does not come from a page that this browser was shown: nothing was changed."""


def with_session(right: Right | None = None) -> Callable[[View], View]:
    """A view that is handed (session of the database, SignedIn) within the one unit of work."""

    def decorate(view: View) -> View:
        @functools.wraps(view)
        def run(**path: str) -> Response:
            token = cookies.read(request, cookies.SESSION)
            check(request, token)
            if token is None:
                return see(SIGN_IN)

            def work(session: Session) -> Response:
                found = resume_session(session, token)
                if found is None:
                    return see(SIGN_IN)
                if right is not None:
                    require(found.operator.role, right)
                return view(session, found, **path)

            answer: Response = house().database.run(work)
            return answer

        return states(signed_in(right))(run)

    return decorate


def check(asked: Request, cookie: str | None) -> None:
    """WrongHost or ForeignForm where the request is not one of our own pages' own."""
    if _host(asked) != urlsplit(house().settings.public_url).netloc:
        raise WrongHost
    if asked.method in ("GET", "HEAD"):
        return
    asked.max_content_length = MOST_BYTES
    sent = asked.form.get(CSRF_FIELD, "")
    wanted = cookies.csrf_token(cookie) if cookie else ""
    if not _ours(asked) or not wanted or not hmac.compare_digest(sent.encode(), wanted.encode()):
        raise ForeignForm


def origin_of(asked: Request, who: SignedIn | None = None) -> Origin:
    """Who does something on a page, for the audit."""
    actor = Actor(ActorKind.CLIENT) if who is None else who.operator.actor
    return Origin(actor, asked.remote_addr, request_id(asked))


def _ours(asked: Request) -> bool:
    """What the browser says of where the form was; the token decides where it says nothing."""
    origin, site = asked.headers.get("Origin"), asked.headers.get("Sec-Fetch-Site")
    return origin in (None, house().settings.public_url) and site in (None, "same-origin")


def _host(asked: Request) -> str:
    scheme = urlsplit(house().settings.public_url).scheme
    return asked.host.lower().removesuffix(_DEFAULT_PORTS[scheme])
