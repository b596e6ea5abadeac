"""What goes wrong in the console, as pages: what was not done, and what to do."""

from __future__ import annotations

import logging
import random
from dataclasses import dataclass

from flask import Blueprint, Flask, Response, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from blueprints import problems
from blueprints.console import cookies
from blueprints.console.again import to_proof
from blueprints.console.faults import Unclear
from blueprints.console.pages import as_it_is, away_from_here, page, see
from blueprints.console.return_path import page_of, to_sign_in
from blueprints.console.sessions import ForeignForm, SignedOut, WrongHost, asks_by_itself
from blueprints.console.shell import PLACES
from blueprints.request_ids import request_id
from extensions import house
from restante import errors
from restante.identity.roles import ProofTooOld, RightMissing

log = logging.getLogger("restante.http")
FOR_PROGRAMS = ("/api/", "/oauth/", "/.well-known/", "/health/", "/metrics")


@dataclass(frozen=True, slots=True)
class _Words:
    """A page of its own: status, headline, what to do."""

    status: int
    title: str
    text: str


_NOWHERE = _Words(
    404, "There is nothing here", "The address leads nowhere, or to what is not yours to see."
)
_WORDS: dict[type[Exception], _Words] = {
    SignedOut: _Words(
        403, "You are signed out", "Nothing was changed. Sign in, then do it once more."
    ),
    ForeignForm: _Words(
        403,
        "Not done",
        "This form was not sent from a page that you were shown just now, so nothing was changed. "
        "Open the page again and repeat it there.",
    ),
    RightMissing: _Words(403, "Your role does not include this", "Nothing was changed."),
    errors.NotFound: _NOWHERE,
    # part of an address, and one that was not given out
    errors.PageTokenInvalid: _NOWHERE,
    WrongHost: _Words(421, "This server goes by another name", "Open it under its own address."),
    errors.IdempotencyInFlight: _Words(
        409,
        "It is being done",
        "This form was sent a moment ago already. It is done once; look there what became of it.",
    ),
    errors.IdempotencyKeyReused: _Words(
        422,
        "Not done",
        "This form was sent before and carried out; what it says now is something else, and was not "
        "done. Open the page again.",
    ),
    errors.RateLimited: _Words(
        429, "Too many tries", "Nothing was done. Wait a minute, then try again."
    ),
    errors.Overloaded: _Words(503, "Too busy just now", "Nothing was done. Try again in a moment."),
}
_METHOD = _Words(405, "Not done", "This address does not take that. Nothing was changed.")
_UNREADABLE = _Words(400, "Not done", "The form could not be read. Nothing was changed.")
_LARGE = _Words(413, "Not done", "The form is too large. Nothing was changed.")
_FAILED = _Words(
    500, "Something went wrong here", "It is not your fault. Its id finds it in the server's log."
)
_BY_STATUS = {400: _UNREADABLE, 404: _NOWHERE, 405: _METHOD, 413: _LARGE}


def show_as_pages(blueprint: Blueprint) -> None:
    """Show what its views raise as pages."""
    blueprint.register_error_handler(Exception, _page_of)


def show_unknown_addresses(app: Flask) -> None:
    """A browser that is nowhere, or knocks the wrong way, sees a page; a program a problem."""

    def unknown(error: HTTPException) -> Response:
        accepted = request.accept_mimetypes
        html, json = accepted.quality("text/html"), accepted.quality("application/json")
        signed_in = cookies.read(request, cookies.SESSION) is not None and html == json
        if request.path.startswith(FOR_PROGRAMS) or not (html > json or signed_in):
            return problems.http_problem(error)
        return _page_of(error)

    app.register_error_handler(404, unknown)
    app.register_error_handler(405, unknown)


def _page_of(error: Exception) -> Response:
    if isinstance(error, ProofTooOld):
        if asks_by_itself():
            return as_it_is()
        there = to_proof(request, error.members.get("draft"))
        return away_from_here(there) if "HX-Request" in request.headers else see(there)
    words = _words_of(error)
    if words is _FAILED:
        log.error("request_failed request_id=%s", request_id(request), exc_info=error)
    text = f"{error} {words.text}" if isinstance(error, RightMissing) else words.text
    home = house().settings.public_url if isinstance(error, WrongHost) else None
    back = error.there if isinstance(error, Unclear) else None
    again = to_sign_in(request) if isinstance(error, SignedOut) else None
    known = words is _NOWHERE and cookies.read(request, cookies.SESSION) is not None
    near = [one for one in PLACES if known and request.path.startswith(f"{one.path}/")]
    answer = page(
        "failure.html",
        words.status,
        title=words.title,
        text=text,
        home=home,
        back=back,
        again=again,
        near=near[0] if near else None,
        belongs_to=page_of(request) if words is _METHOD else None,
    )
    if isinstance(error, errors.RateLimited):
        answer.headers["Retry-After"] = str(error.retry_after_seconds)
    elif words.status == 503:
        answer.headers["Retry-After"] = str(random.randint(1, 4))  # noqa: S311 - jitter
    if isinstance(error, MethodNotAllowed):
        answer.headers["Allow"] = ", ".join(sorted(error.valid_methods or ()))
    return answer


def _words_of(error: Exception) -> _Words:
    if isinstance(error, Unclear):
        return _Words(422, error.title, error.detail)
    if isinstance(error, HTTPException):
        return _BY_STATUS.get(error.code or 500, _FAILED)
    if problems.is_lost_connection(error):
        return _WORDS[errors.Overloaded]
    known = (_WORDS[base] for base in type(error).__mro__ if base in _WORDS)
    return next(known, _FAILED)
