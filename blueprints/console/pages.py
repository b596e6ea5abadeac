"""What every page of the console is sent with: nothing inline, nothing kept, in nobody's frame."""

from __future__ import annotations

from typing import Any

from flask import Response, make_response, render_template, request

from blueprints.console.cookies import csrf_token, theme_of
from blueprints.request_ids import request_id
from extensions import house
from restante.identity.sessions import SignedIn

HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; "
    "script-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    # with no-referrer browsers send `Origin: null` with our own forms (Fetch, section 3.2)
    "Referrer-Policy": "same-origin",
    # a part of a page is never taken for the page (htmx), nor one operator's for another's
    "Vary": "HX-Request, Cookie",
    "X-Frame-Options": "DENY",
}


def page(
    template: str,
    status: int = 200,
    *,
    signed_in: SignedIn | None = None,
    cookie: str | None = None,
    **shown: Any,
) -> Response:
    """The answer with a page; `cookie` is what the forms on it are tied to."""
    text = render_template(
        f"console/{template}",
        signed_in=signed_in,
        csrf=None if cookie is None else csrf_token(cookie),
        request_id=request_id(request),
        theme=theme_of(request),
        **shown,
    )
    answer = make_response(text, status)
    answer.headers.update(HEADERS)
    return protect(answer)


def see(path: str) -> Response:
    """Go on to another page of ours; what a caller sent went through `return_path.ours`."""
    answer = make_response("", 303)
    answer.headers.update(HEADERS)
    answer.headers["Location"] = path
    return protect(answer)


def away_from_here(path: str) -> Response:
    """The page is over, not the part of it that was asked for (htmx): it goes on to `path`."""
    answer = make_response("", 401)
    answer.headers.update(HEADERS)
    answer.headers["HX-Redirect"] = path
    return protect(answer)


def as_it_is() -> Response:
    """The page that asked by itself stays what it is (204), with all that is typed in it."""
    answer = make_response("", 204)
    answer.headers.update(HEADERS)
    return protect(answer)


def protect(answer: Response) -> Response:
    """HSTS, where the console is on https."""
    if house().settings.public_url.startswith("https:"):
        answer.headers["Strict-Transport-Security"] = "max-age=31536000"
    return answer
