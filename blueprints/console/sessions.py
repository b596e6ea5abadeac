"""Views of the console: the address, the form's origin and token, the session, the right; then the view."""

from __future__ import annotations

import functools
import hmac
import re
from collections.abc import Callable
from urllib.parse import urlsplit

from flask import Request, Response, request

from blueprints.access import signed_in, states
from blueprints.changed import changed_by
from blueprints.console import cookies
from blueprints.console.kept import after_sign_in, to_be_proved
from blueprints.console.pages import away_from_here, see
from blueprints.console.return_path import SIGN_IN, to_sign_in
from blueprints.request_ids import request_id
from blueprints.sent_form import read_form
from extensions import house
from restante.audit.actions import ActorKind
from restante.audit.entries import Actor, Origin
from restante.errors import NotFound, RestanteError
from restante.identity.roles import RULES, Right, RightMissing, may, missing
from restante.identity.sessions import (
    SignedIn,
    refuse_request,
    resume_session,
    whose_ran_out,
)
from restante.storage.transaction import Session, after_commit

View = Callable[..., Response | RestanteError]
Served = Callable[..., Response]
CSRF_FIELD = "csrf"
LIVE = "Restante-Live"
"""Header of a request that a page makes by itself."""
MOST_BYTES = 16 * 1024
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}
_PUBLIC_ID = re.compile(r"/([a-z]{2,4}_[0-9a-f]{32})(?=/|$)")


class WrongHost(RestanteError):
    """This server is asked under another name than its own."""


class ForeignForm(RestanteError):
    """The form does not come from a page that this browser was shown: nothing was changed."""


class SignedOut(ForeignForm):
    """The form was on a page of ours, and nobody is signed in here any more: nothing was changed."""


def with_session(
    right: Right | None = None,
    *,
    anew: bool = False,
    polled: bool = False,
    calls_out: bool = False,
    most_bytes: int = MOST_BYTES,
) -> Callable[[View], Served]:
    """A view that is handed (session of the database, SignedIn) within the one unit of work.

    A right that takes it, or `anew`: who has not proved just now who he is does that first (again.py).
    What is refused to somebody who is signed in is in the audit: that commits before it is raised. So
    does a refusal that a view returns (`refuse`). `polled`: a part that a page asks for by itself; that
    keeps no session alive. `most_bytes`: of a form. `calls_out`: the view has somebody called, which no
    transaction may wait for: it is handed SignedIn alone, after the unit of work that let it in.
    """
    takes_proof = anew or (right is not None and RULES[right].anew)

    def decorate(view: View) -> Served:
        @functools.wraps(view)
        def run(**path: str) -> Response:
            check_host(request)
            token = cookies.read(request, cookies.SESSION)
            refused = None if _is_our_form(request, token, most_bytes) else ForeignForm()
            if token is None:
                return _nobody(SignedOut() if refused and _is_same_site(request) else refused)

            def work(session: Session) -> Response | SignedIn | RestanteError:
                found = resume_session(session, token, used=not (polled or asks_by_itself()))
                if found is None:
                    was = None if refused else whose_ran_out(session, token)
                    return _nobody(refused, None if was is None else after_sign_in(session, was))
                why = refused or _missing(found, right)
                if why is None:
                    if takes_proof and not found.recent:
                        return to_be_proved(session, found)
                    _tell_watchers(session, found)
                    return found if calls_out else view(session, found, **path)
                return refuse(session, found, why)

            answer = house().database.run(work)
            if isinstance(answer, SignedIn):
                answer = view(answer, **path)
            if isinstance(answer, RestanteError):
                raise answer
            return answer

        return states(signed_in(right))(run)

    return decorate


def refuse(session: Session, who: SignedIn, why: RestanteError) -> RestanteError:
    """Put a refusal into the audit; whoever returns it has it raised once that has committed."""
    by, path = origin_of(request, who), request.path
    named = _PUBLIC_ID.search(path)
    target, said = (named[1], f"{why.detail} ({path})") if named else (path, why.detail)
    refuse_request(session, who, target=target, why=said, by=by)
    return why


def asks_by_itself() -> bool:
    """A page that is kept up to date (static/live.js) uses its session no more than a polled part does."""
    return request.method == "GET" and LIVE in request.headers


def _tell_watchers(session: Session, who: SignedIn) -> None:
    """Once it has committed, whoever watches the tenant hears of what a form may have changed."""
    topics = changed_by(request.method, str(request.url_rule))
    if topics and who.operator.tenant_id is not None:
        place, changes = who.operator.tenant_id, house().changes
        after_commit(session, lambda: changes.note(place, topics))


def check(asked: Request, cookie: str | None) -> None:
    """WrongHost or ForeignForm where the request is not one of our own pages' own."""
    check_host(asked)
    if not _is_our_form(asked, cookie):
        raise ForeignForm


def check_host(asked: Request) -> None:
    """WrongHost where this server is not called by its name, NotFound where a page is not by its own."""
    if asked.environ.get("PATH_INFO", "").startswith("//"):  # werkzeug takes all slashes for one
        raise NotFound
    if _host(asked) != urlsplit(house().settings.public_url).netloc:
        raise WrongHost


def origin_of(asked: Request, who: SignedIn | None = None) -> Origin:
    """Who does something on a page, for the audit."""
    actor = Actor(ActorKind.CLIENT) if who is None else who.operator.actor
    return Origin(actor, asked.remote_addr, request_id(asked))


def _missing(who: SignedIn, right: Right | None) -> RightMissing | None:
    if right is None or may(who.operator.role, right):
        return None
    return missing(right)


def _nobody(refused: RestanteError | None, wanted: str | None = None) -> Response:
    """Nobody is signed in: he is sent where one signs in, and back here afterwards, or to `wanted`."""
    if refused is not None:
        raise refused
    if "HX-Request" in request.headers and "HX-History-Restore-Request" not in request.headers:
        return away_from_here(SIGN_IN)
    return see(to_sign_in(request, wanted))


def _is_our_form(asked: Request, cookie: str | None, most_bytes: int = MOST_BYTES) -> bool:
    if asked.method in ("GET", "HEAD"):
        return True
    asked.max_content_length = asked.max_form_memory_size = most_bytes
    sent = read_form(asked).get(CSRF_FIELD, "")
    wanted = cookies.csrf_token(cookie) if cookie else ""
    return (
        _is_same_site(asked)
        and bool(wanted)
        and hmac.compare_digest(sent.encode("utf-8", "surrogatepass"), wanted.encode())
    )


def _is_same_site(asked: Request) -> bool:
    """What the browser says of where the form was; the token decides where it says nothing."""
    origin, site = asked.headers.get("Origin"), asked.headers.get("Sec-Fetch-Site")
    return origin in (None, house().settings.public_url) and site in (None, "same-origin")


def _host(asked: Request) -> str:
    scheme = urlsplit(house().settings.public_url).scheme
    return asked.host.lower().removesuffix(_DEFAULT_PORTS[scheme])
