"""Receivers of webhooks in Flask and ASGI. Neither is imported: requests are taken as they are."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any
from urllib.parse import quote, urlsplit

from restante_agent.webhook import ChallengeAnswer, Delivery, Receiver
from restante_agent.webhook_message import NotGenuine

MOST_BYTES = 16 * 1024 * 1024
Handle = Callable[[Delivery], int | None]
AsyncHandle = Callable[[Delivery], Awaitable[int | None]]
Message = MutableMapping[str, Any]
JSON = {"Content-Type": "application/json"}


def flask_answer(
    receiver: Receiver, request: Any, handle: Handle, *, origin: str | None = None
) -> tuple[bytes, int, dict[str, str]]:
    """What a Flask view returns, given its `request`.

    `handle` returns the status to answer, None: 204. 202 says that it will settle the event itself.
    What it raises is answered by Flask with 500, and the delivery comes again.
    `origin`: scheme and authority under which we are called, where a proxy hides them.
    """
    if request.content_length is None or request.content_length > MOST_BYTES:
        return b"", 413, {}
    target = request.environ.get("RAW_URI") or request.environ.get("REQUEST_URI")
    if target is None:
        query = request.query_string.decode("latin-1")
        target = quote(request.path) + (f"?{query}" if query else "")
    url = _url(origin or request.host_url.rstrip("/"), target)
    try:
        came = receiver.receive(
            request.method, url, dict(request.headers), request.get_data(cache=False)
        )
    except NotGenuine:
        return b"", 401, {}
    if isinstance(came, ChallengeAnswer):
        return came.body, 200, JSON
    return b"", handle(came) or 204, {}


class AsgiReceiver:
    """An ASGI application: mount it where the callback's URL leads.

    `handle` may be a coroutine; one that is none holds the event loop while it works.
    """

    def __init__(
        self, receiver: Receiver, handle: Handle | AsyncHandle, *, origin: str | None = None
    ) -> None:
        self._receiver = receiver
        self._handle = handle
        self._origin = origin

    async def __call__(
        self,
        scope: Mapping[str, Any],
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        """One request."""
        if scope["type"] != "http":
            return
        headers: dict[str, str] = {}
        for raw, value in scope["headers"]:  # one that is repeated is a list (RFC 9110 section 5.3)
            name, text = raw.decode("latin-1").lower(), value.decode("latin-1")
            headers[name] = f"{headers[name]}, {text}" if name in headers else text
        body = await _read(receive)
        status, content = (413, b"") if body is None else await self._answer(scope, headers, body)
        fields = [(b"content-type", b"application/json")] if content else []
        fields.append((b"content-length", str(len(content)).encode()))
        await send({"type": "http.response.start", "status": status, "headers": fields})
        await send({"type": "http.response.body", "body": content})

    async def _answer(
        self, scope: Mapping[str, Any], headers: Mapping[str, str], body: bytes
    ) -> tuple[int, bytes]:
        raw = scope.get("raw_path")
        path = quote(scope["path"]) if raw is None else raw.decode("latin-1").partition("?")[0]
        query = scope.get("query_string", b"").decode("latin-1")
        origin = self._origin or f"{scope.get('scheme', 'https')}://{headers.get('host', '')}"
        url = _url(origin, f"{path}?{query}" if query else path)
        try:
            came = self._receiver.receive(scope["method"], url, headers, body)
        except NotGenuine:
            return 401, b""
        if isinstance(came, ChallengeAnswer):
            return 200, came.body
        said = self._handle(came)
        status = await said if inspect.isawaitable(said) else said
        return status or 204, b""


async def _read(receive: Callable[[], Awaitable[Message]]) -> bytes | None:
    """The whole body; None: it is longer than any delivery."""
    parts, size, more = [], 0, True
    while more:
        message = await receive()
        part = message.get("body", b"")
        size += len(part)
        if size > MOST_BYTES:
            return None
        parts.append(part)
        more = message.get("more_body", False)
    return b"".join(parts)


def _url(origin: str, target: str) -> str:
    """The URL as it was called; a target in absolute form has an authority of its own."""
    if target.startswith(("http://", "https://")):
        parts = urlsplit(target)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return origin.rstrip("/") + target
