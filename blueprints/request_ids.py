"""X-Request-Id: echoed where it is sane, else made; it finds a request in the log."""

from __future__ import annotations

import re
import uuid

from flask import Request

HEADER = "X-Request-Id"
_KEY = "restante.request_id"
_SANE = re.compile(r"[A-Za-z0-9._:/+=@-]{1,128}")


def request_id(request: Request) -> str:
    """That of a request; the same at every call."""
    environ = request.environ
    known: str | None = environ.get(_KEY)
    if known is None:
        sent = environ.get("HTTP_X_REQUEST_ID", "")
        known = environ[_KEY] = sent if _SANE.fullmatch(sent) else uuid.uuid4().hex
    return known
