"""Where to go on after signing in: a page of this console, and nothing else (RFC 9700, section 4.11)."""

from __future__ import annotations

import re
from datetime import timedelta
from urllib.parse import quote

from flask import Request, current_app
from werkzeug.exceptions import HTTPException
from werkzeug.routing import RequestRedirect

from blueprints.access import stated_by
from blueprints.console import cookies

SIGN_IN = "/sign-in"
HOME = "/overview"
FIELD = "next"
LIFE = timedelta(minutes=15)
"""How long it is remembered: as long as a link to sign in is good."""
_MOST = 180
_PATH = re.compile(r"/[A-Za-z0-9_.~-][A-Za-z0-9_.~/-]*")
_QUERY = re.compile(r"[A-Za-z0-9_.~!$&'()*+,;=:@/?%-]*")


def ours(text: str | None) -> str | None:
    """That address where it is a page for somebody who is signed in; None for any other text."""
    if not text or len(text) > _MOST:
        return None
    path, _, query = text.partition("?")
    if not _PATH.fullmatch(path) or not _QUERY.fullmatch(query):
        return None
    try:
        endpoint, _ = current_app.url_map.bind("").match(path, method="GET")
    except (HTTPException, RequestRedirect):
        return None
    access = stated_by(current_app.view_functions[endpoint])
    return text if access is not None and access.session else None


def to_sign_in(asked: Request) -> str:
    """The page to sign in, which remembers what was asked for."""
    query = asked.query_string.decode("ascii", "replace")
    wanted = ours(f"{asked.path}?{query}" if query else asked.path) or ours(asked.path)
    if wanted in (None, HOME):
        return SIGN_IN
    return f"{SIGN_IN}?{FIELD}={quote(wanted, safe='/')}"


def remembered(asked: Request) -> str:
    """Where a browser that has just signed in goes on."""
    return ours(cookies.read(asked, cookies.NEXT)) or HOME
