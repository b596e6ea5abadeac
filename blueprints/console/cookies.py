"""The console's cookies: the session's, a visitor's who is about to sign in (who, where to), the colours.

`__Host-` and Secure (RFC 6265bis, section 4.1.3) where the public URL is https; on loopback, where
it may be http, browsers refuse both.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from datetime import timedelta

from flask import Request, Response

from extensions import house

SESSION = "restante-session"
VISITOR = "restante-visitor"
NEXT = "restante-next"
THEME = "restante-theme"
THEMES = ("light", "dark")
_TOKEN_SIZE = 200


def read(asked: Request, name: str) -> str | None:
    """The cookie's value; None where there is none that could be ours."""
    text = asked.cookies.get(_named(name), "")
    return text if text and len(text) <= _TOKEN_SIZE else None


def give(answer: Response, name: str, value: str, *, life: timedelta | None = None) -> None:
    """Set a cookie that ends with the browser: how long a session is good, the database says."""
    answer.set_cookie(
        _named(name),
        value,
        max_age=life,
        path="/",
        secure=_https(),
        httponly=True,
        samesite="Lax",
    )


def take(answer: Response, name: str) -> None:
    """Have the browser forget it."""
    answer.delete_cookie(_named(name), path="/", secure=_https(), httponly=True, samesite="Lax")


def new_visitor() -> str:
    """The value of a visitor's cookie: it opens nothing, it ties a form to a browser."""
    return secrets.token_urlsafe(24)


def csrf_token(cookie: str) -> str:
    """What forms carry: it follows from the cookie, which no other site can read."""
    return hmac.new(cookie.encode(), b"csrf", hashlib.sha256).hexdigest()


def theme_of(asked: Request) -> str | None:
    """`light` or `dark`; None: as the reader's system has it."""
    chosen = read(asked, THEME)
    return chosen if chosen in THEMES else None


def _named(name: str) -> str:
    return f"__Host-{name}" if _https() else name


def _https() -> bool:
    return house().settings.public_url.startswith("https:")
