"""What stands in front of a served Restante, tried from outside: for `restante doctor --url`.

The address is the operator's own and given by him, so this needs none of the care that is due
where a tenant names an address.
"""

from __future__ import annotations

import base64
import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.message import Message
from http.client import HTTPException

from restante.storage.finding import Finding, Level

TIMEOUT_SECONDS = 10
FIRST_FRAME_SECONDS = 5
LARGE_BODY = 7 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    headers: Message
    body: bytes

    @property
    def is_ours(self) -> bool:
        return "Restante-Version" in self.headers


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: object, **kwargs: object) -> None:
        return None


_opener = urllib.request.build_opener(_NoRedirects)


def look_from_outside(url: str, environ: Mapping[str, str]) -> Iterator[Finding]:
    """What a client meets at the address; streams are tried with RESTANTE_CLIENT_ID and _SECRET."""
    url = url.rstrip("/")
    try:
        yield from _basics(url)
        yield from _stream(url, environ)
    except (OSError, HTTPException) as error:
        yield Finding(Level.REFUSED, "url", f"{url} does not answer as Restante does: {error}")


def _basics(url: str) -> Iterator[Finding]:
    if not _ask(f"{url}/health/live").is_ours:
        raise HTTPException("something else is there, or a proxy drops the Restante-Version field")
    told = json.loads(_ask(f"{url}/.well-known/oauth-authorization-server").body)
    if told["issuer"] != url:
        yield Finding(
            Level.WARNING,
            "public_url",
            f"RESTANTE_PUBLIC_URL is {told['issuer']}, and this address is {url}: tokens and signatures "
            "are made for the former, so clients have to use that one.",
        )
    asked = _ask(f"{url}/api/v1/events?limit=1", headers={"Authorization": "Bearer doctor"})
    if "invalid_token" not in asked.headers.get("WWW-Authenticate", ""):
        yield Finding(
            Level.REFUSED,
            "authorization",
            "The Authorization field does not arrive: let the proxy pass it on unchanged.",
        )
    if not _ask(f"{url}/health/live", method="PUT").is_ours:
        sentence = "PUT does not arrive: let the proxy pass every method on."
        yield Finding(Level.WARNING, "methods", sentence)
    headers = {"Authorization": "Bearer doctor", "Content-Type": "application/json"}
    try:
        large = _ask(f"{url}/api/v1/events", method="POST", headers=headers, body=bytes(LARGE_BODY))
    except OSError:
        return  # without a proxy the refusal comes, and the line goes, before all of it is sent
    if large.status == 413 and not large.is_ours:
        yield Finding(
            Level.WARNING,
            "body_size",
            "The proxy refuses bodies of 7 MiB: allow 8 MiB (nginx: client_max_body_size 8m).",
        )


def _stream(url: str, environ: Mapping[str, str]) -> Iterator[Finding]:
    client_id, secret = environ.get("RESTANTE_CLIENT_ID"), environ.get("RESTANTE_CLIENT_SECRET")
    if not client_id or not secret:
        sentence = (
            "Streams were not tried: set RESTANTE_CLIENT_ID and RESTANTE_CLIENT_SECRET of an agent."
        )
        yield Finding(Level.NOTE, "streams", sentence)
        return
    basic = base64.b64encode(f"{client_id}:{secret}".encode()).decode()
    got = _ask(
        f"{url}/oauth/token",
        method="POST",
        headers={"Authorization": f"Basic {basic}"},
        body=b"grant_type=client_credentials",
    )
    if got.status != 200:
        yield Finding(Level.WARNING, "streams", "RESTANTE_CLIENT_ID and _SECRET got no token.")
        return
    request = urllib.request.Request(  # noqa: S310 - the operator's own address
        f"{url}/api/v1/agents/{client_id}/subscribe",
        headers={"Authorization": f"Bearer {json.loads(got.body)['access_token']}"},
    )
    began = time.monotonic()
    try:
        with _opener.open(request, timeout=FIRST_FRAME_SECONDS) as stream:
            stream.read(1)
    except TimeoutError:
        yield _buffered("nothing came")
    else:
        took = time.monotonic() - began
        if took > 1:
            yield _buffered(f"the first byte took {took:.1f} s")


def _buffered(what: str) -> Finding:
    return Finding(
        Level.WARNING,
        "streams",
        f"A stream was opened and {what}: turn off buffering and compression for it "
        "(nginx: proxy_buffering off, gzip off for text/event-stream).",
    )


def _ask(
    url: str,
    *,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
) -> _Answer:
    request = urllib.request.Request(url, data=body, method=method, headers=dict(headers or {}))  # noqa: S310 - see above
    try:
        with _opener.open(request, timeout=TIMEOUT_SECONDS) as answer:
            return _Answer(answer.status, answer.headers, answer.read(1 << 20))
    except urllib.error.HTTPError as error:
        with error:
            return _Answer(error.code, error.headers, error.read(1 << 20))
