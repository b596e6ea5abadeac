"""Where to go on after signing in: a page of this console, and nothing else (RFC 9700, section 4.11)."""

from __future__ import annotations

import re
from datetime import timedelta
from urllib.parse import quote

from flask import Request, current_app
from werkzeug.exceptions import HTTPException
from werkzeug.routing import RequestRedirect, Rule

from blueprints.access import stated_by
from blueprints.console import cookies
from extensions import house

SIGN_IN = "/sign-in"
HOME = "/overview"
FIELD = "next"
LIFE = timedelta(minutes=15)
"""How long it is remembered: as long as a link to sign in is good."""
_MOST = 180
LONG = 8_192
"""Of an address that is gone to at once, and kept nowhere."""
_PATH = re.compile(r"/[A-Za-z0-9_.~-][A-Za-z0-9_.~/-]*")
_QUERY = re.compile(r"[A-Za-z0-9_.~!$&'()*+,;=:@/?%-]*")


def ours(text: str | None, *, most: int = _MOST) -> str | None:
    """That address where it is a page for somebody who is signed in; None for any other text."""
    if not text or len(text) > most:
        return None
    path, _, query = text.partition("?")
    if not _PATH.fullmatch(path) or not _QUERY.fullmatch(query):
        return None
    got, sent = _rule(path, "GET"), _rule(path, "POST")
    if got is None or (sent is not None and sent.rule != got.rule):
        return None  # as /scopes/preview, which is no agent's page
    access = stated_by(current_app.view_functions[got.endpoint])
    return text if access is not None and access.session else None


def _rule(path: str, method: str) -> Rule | None:
    try:
        rule, _ = current_app.url_map.bind("").match(path, method=method, return_rule=True)
    except (HTTPException, RequestRedirect):
        return None
    return rule


def came_from(asked: Request, *, most: int = _MOST) -> str | None:
    """The page of ours that its form was on."""
    return ours((asked.referrer or "").removeprefix(house().settings.public_url), most=most)


def page_of(asked: Request, *, most: int = _MOST) -> str:
    """The page that a request belongs to, which can be got.

    That is its own address; of a form, the page that it was on, or else the nearest above where it went.
    """
    if asked.method == "GET":
        query = asked.query_string.decode("ascii", "replace")
        whole = ours(f"{asked.path}?{query}" if query else asked.path, most=most)
    else:
        whole = came_from(asked, most=most)
    path, found = asked.path, whole
    while found is None and path:
        found, path = ours(path), path.rpartition("/")[0]
    return found or HOME


def to_sign_in(asked: Request, wanted: str | None = None) -> str:
    """The page to sign in, which remembers what was asked for, or where else it goes on."""
    wanted = wanted or page_of(asked)
    if wanted == HOME:
        return SIGN_IN
    return f"{SIGN_IN}?{FIELD}={quote(wanted, safe='/')}"


def remembered(asked: Request) -> str:
    """Where a browser that has just signed in goes on."""
    return ours(cookies.read(asked, cookies.NEXT)) or HOME
