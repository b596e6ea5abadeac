"""Pages of other origins: which of them a browser lets read an answer (contract 5.1; the Fetch standard).

The agents' API only, compared exactly, without credentials. A preflight brings no token, and neither does
what is refused before it is known who calls: there it is enough that some tenant lists the origin. What is
answered to somebody is for the origins that his own tenant lists (decision 0020).
"""

from __future__ import annotations

import logging

from flask import Flask, Request, Response, request

from blueprints.principal import caller
from blueprints.request_ids import request_id
from extensions import house

log = logging.getLogger("restante.http")
OPEN, CLOSED = "/api/v1/", "/api/v1/admin/"
METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE"
SENT = (
    "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Signature, Signature-Input, "
    "Content-Digest, X-Request-Id, traceparent"
)
SHOWN = (
    "ETag, X-Request-Id, Retry-After, WWW-Authenticate, Accept-Signature, Restante-Version, "
    "Idempotency-Replayed, Restante-Next-Cursor, Restante-Has-More, Restante-Claimable, Restante-Epoch, "
    "Restante-Next-Poll-Ms, Restante-Claim-Id, Restante-Reason, Restante-Spent"
)
PREFLIGHT_SECONDS = 600
"""How long a browser goes by a preflight. It lets nobody read anything: that is decided with each answer."""


def install(app: Flask) -> None:
    """Answer preflights, and let the pages that may read an answer do it."""
    app.before_request(_preflight)
    app.after_request(_share)


def _preflight() -> Response | None:
    """The answer to one; None for anything else. It is the same for every address, be it there or not."""
    if request.method != "OPTIONS" or not _is_open(request):
        return None
    origin = request.headers.get("Origin")
    if origin is None or "Access-Control-Request-Method" not in request.headers:
        return None
    answer = Response(status=204)
    if _is_allowed(request, origin):
        answer.headers["Access-Control-Allow-Methods"] = METHODS
        answer.headers["Access-Control-Allow-Headers"] = SENT
        answer.headers["Access-Control-Max-Age"] = str(PREFLIGHT_SECONDS)
    return answer


def _share(answer: Response) -> Response:
    asked = request._get_current_object()  # type: ignore[attr-defined] # noqa: SLF001 - Flask's own way
    if not _is_open(asked):
        return answer
    answer.headers.add("Vary", "Origin")
    origin = asked.environ.get("HTTP_ORIGIN")
    if origin is None:
        return answer
    try:
        allowed = _is_allowed(asked, origin)
    except Exception as error:  # noqa: BLE001 - the answer is made; without a list no page reads it
        log.warning(
            "origin_unknown request_id=%s cause=%s", request_id(asked), type(error).__name__
        )
        return answer
    if allowed:
        answer.headers["Access-Control-Allow-Origin"] = origin
        if asked.method != "OPTIONS":
            answer.headers["Access-Control-Expose-Headers"] = SHOWN
    return answer


def _is_open(asked: Request) -> bool:
    path: str = asked.environ["PATH_INFO"]
    return path.startswith(OPEN) and not path.startswith(CLOSED)


def _is_allowed(asked: Request, origin: str) -> bool:
    listing = house().origins.tenants(origin)
    known = caller(asked)
    return bool(listing) if known is None else known.tenant_id in listing
