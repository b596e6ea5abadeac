"""What both drivers share about httpx2: settings, and its exceptions as ours."""

from __future__ import annotations

from collections.abc import Mapping

import httpx2

from restante_agent.errors import TimedOut, Unreachable
from restante_agent.wire.signature import signature_fields
from restante_agent.wire.step import Send

CONNECT_SECONDS = 5.0
POOL_SECONDS = 30.0  # a runner with many handlers may have more to say than connections
# Errors that are raised before the first byte of a request can have left.
_NEVER_SENT = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.UnsupportedProtocol,
)
LIMITS = httpx2.Limits(max_connections=100, max_keepalive_connections=20, keepalive_expiry=30.0)


def timeout_of(send: Send) -> httpx2.Timeout:
    return httpx2.Timeout(
        connect=CONNECT_SECONDS, read=send.read_seconds, write=15.0, pool=POOL_SECONDS
    )


def signed(request: httpx2.Request, send: Send) -> httpx2.Request:
    """The request with the fields of its signature, which is of what httpx2 sends."""
    if send.pen is not None:
        fields = signature_fields(
            send.pen,
            request.method,
            request.url.raw_path.decode("ascii"),
            authority=request.headers["host"].lower(),
            content=send.content or b"",
        )
        request.headers.update(fields)
    return request


def lower(headers: httpx2.Headers) -> Mapping[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def lost(error: httpx2.TransportError) -> Unreachable:
    """Our error for theirs. Their text names hosts and causes, never headers or bodies."""
    kind = TimedOut if isinstance(error, httpx2.TimeoutException) else Unreachable
    text = str(error) or type(error).__name__
    return kind(
        f"no answer from {_origin(error)}: {text}",
        may_have_happened=not isinstance(error, _NEVER_SENT),
    )


def _origin(error: httpx2.TransportError) -> str:
    """Who was asked."""
    try:
        url = error.request.url
    except RuntimeError:  # httpx2's way to say that it knows no request
        return "the server"
    return f"{url.scheme}://{url.netloc.decode('ascii')}"
