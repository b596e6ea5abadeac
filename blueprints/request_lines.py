"""A line of the log for each request that was answered, where RESTANTE_LOG_REQUESTS wants them."""

from __future__ import annotations

import logging
from time import perf_counter

from flask import Flask, Response, request

from blueprints.request_facts import facts, route_of

log = logging.getLogger("restante.requests")
_CAME = "restante.came"


def install(app: Flask) -> None:
    """Write them. Streams and held calls have theirs when they are first answered."""
    app.before_request(_begin)
    app.after_request(_end)


def _begin() -> None:
    request.environ[_CAME] = perf_counter()


def _end(answer: Response) -> Response:
    took_ms = (perf_counter() - request.environ[_CAME]) * 1_000
    told = " ".join(f"{name}={text}" for name, text in facts(request).items())
    log.info(
        "request method=%s route=%s status=%s ms=%.1f %s",
        request.method,
        route_of(request) or "-",
        answer.status_code,
        took_ms,
        told,
    )
    return answer
