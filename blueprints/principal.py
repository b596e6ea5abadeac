"""Who calls: a bearer token in the Authorization field (RFC 6750, section 2.1) and no other way."""

from __future__ import annotations

import re

from flask import Request

from blueprints.sent_form import read_form
from extensions import house
from restante.errors import AmbiguousCredentials, InsufficientScope, RestanteError, Unauthenticated
from restante.identity.principal import Principal
from restante.identity.tokens import Claims

REALM = "restante"
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")
_SCOPE_TOKEN = re.compile(r"[!#-\[\]-~]+")  # RFC 6749, section 3.3
_CALLER = "restante.caller"
_FORM = "application/x-www-form-urlencoded"


def authenticate(request: Request) -> tuple[Claims, Principal]:
    """What the token says, and the caller with what he may do now.

    Opens a unit of work where nothing fresh is known.

    Raises Unauthenticated (no token, or one that does not hold) and AmbiguousCredentials (more than one).
    """
    return bearer(request, house().authority.claims(bearer_token(request)))


def bearer(request: Request, claims: Claims) -> tuple[Claims, Principal]:
    """The same for claims that are known to be good by themselves."""
    principal = request.environ[_CALLER] = house().authority.principal(claims)
    return claims, principal


def caller(request: Request) -> Principal | None:
    """Who has been found to call; None: nobody, or not yet."""
    found: Principal | None = request.environ.get(_CALLER)
    return found


def bearer_token(request: Request) -> str:
    """The token of the request; the errors of `authenticate`. A token in query or form is never taken."""
    environ = request.environ
    field: str = environ.get("HTTP_AUTHORIZATION", "").strip()
    if not field:
        raise Unauthenticated
    # a field sent twice reaches us as one, joined by a comma, which no token contains
    if "," in field or _is_elsewhere(request):
        raise AmbiguousCredentials
    scheme, _, token = field.partition(" ")
    if scheme.lower() != "bearer":
        raise Unauthenticated
    token = token.strip()
    if not _TOKEN.fullmatch(token):
        raise Unauthenticated("malformed", presented=True)
    return token


def _is_elsewhere(request: Request) -> bool:
    """Whether a query or a form brings a token too; looked at only where there is one."""
    environ = request.environ
    if environ.get("QUERY_STRING") and "access_token" in request.args:
        return True
    if environ.get("CONTENT_TYPE") in (None, "", "application/json"):
        return False
    return request.mimetype == _FORM and "access_token" in read_form(request)


def challenge(error: RestanteError) -> str:
    """The WWW-Authenticate field that goes with a refusal (RFC 6750, section 3)."""
    text = f'Bearer realm="{REALM}"'
    if isinstance(error, InsufficientScope):
        # with a project as the caller wrote it, which may be what breaks the field
        scopes = " ".join(filter(_SCOPE_TOKEN.fullmatch, map(str, error.scopes)))
        named = f', scope="{scopes}"' if scopes else ""
        return f'{text}, error="insufficient_scope"{named}'
    if isinstance(error, Unauthenticated) and error.presented:
        return f'{text}, error="invalid_token"'
    return text
