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
from urllib.parse import urlsplit

from config import is_loopback
from restante.storage.finding import Finding, Level

TIMEOUT_SECONDS = 10
FIRST_FRAME_SECONDS = 5
HEARTBEAT_SECONDS = 310
"""The longest there may be between two heartbeats, and a bit."""
LARGE_TOKEN = 6_000
PUBLIC = "/problems"
ODD = ("/problems//not-found", "/x/../problems", "/x/%2e%2e/problems")
"""Addresses of nothing, until somebody tidies them up."""
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


def look_from_outside(
    url: str, environ: Mapping[str, str], *, patient: bool = False
) -> Iterator[Finding]:
    """What a client meets at the address; streams are tried with RESTANTE_CLIENT_ID and _SECRET.

    `patient`: until a heartbeat has come.
    """
    url = url.rstrip("/")
    proxied = environ.get("RESTANTE_TRUSTED_PROXIES", "0") != "0"
    try:
        yield from _basics(url)
        yield from _requests(url)
        if proxied or not is_loopback(urlsplit(url).hostname or ""):
            yield from _inside(url)
        yield from _stream(url, environ, patient=patient)
    except (OSError, HTTPException) as error:
        yield Finding(Level.REFUSED, "url", f"{url} does not answer as Restante does: {error}")


def _basics(url: str) -> Iterator[Finding]:
    if not _ask(f"{url}{PUBLIC}").is_ours:
        raise HTTPException("something else is there, or a proxy drops the Restante-Version field")
    told = json.loads(_ask(f"{url}/.well-known/oauth-authorization-server").body)
    if told["issuer"] != url:
        yield Finding(
            Level.WARNING,
            "public_url",
            f"RESTANTE_PUBLIC_URL is {told['issuer']}, and this address is {url}: tokens and signatures "
            "are made for the former, so clients have to use that one.",
        )
    elif _ask(f"{url}/sign-in").status == 421:
        yield Finding(
            Level.WARNING,
            "host",
            "The Host field does not arrive as it was sent, so pages and signed requests are "
            "refused: let the proxy pass it on with its port (nginx: proxy_set_header Host "
            "$http_host), or set it in X-Forwarded-Host and RESTANTE_TRUSTED_PROXIES to 1.",
        )


def _requests(url: str) -> Iterator[Finding]:
    headers = {"Authorization": f"Bearer {'d' * LARGE_TOKEN}"}
    large = _ask(f"{url}/api/v1/events?limit=1", headers=headers)
    if not large.is_ours:
        yield Finding(
            Level.WARNING,
            "header_size",
            f"A token of {LARGE_TOKEN} bytes does not arrive, and one with many scopes is as long: "
            "let fields have 16 KiB (nginx: large_client_header_buffers 4 16k).",
        )
    elif "invalid_token" not in large.headers.get("WWW-Authenticate", ""):
        yield Finding(
            Level.REFUSED,
            "authorization",
            "The Authorization field does not arrive: let the proxy pass it on unchanged.",
        )
    if not _ask(f"{url}{PUBLIC}", method="PUT").is_ours:
        sentence = "PUT does not arrive: let the proxy pass every method on."
        yield Finding(Level.WARNING, "methods", sentence)
    if any(_ask(f"{url}{odd}").status != 404 for odd in ODD):
        yield Finding(
            Level.WARNING,
            "paths",
            "Paths arrive changed, and a signature is of the path as it was sent: let the proxy "
            "neither merge slashes nor resolve dots nor decode (nginx: nothing after the name in "
            "proxy_pass).",
        )
    headers = {"Authorization": "Bearer doctor", "Content-Type": "application/json"}
    try:
        sent = _ask(f"{url}/api/v1/events", method="POST", headers=headers, body=bytes(LARGE_BODY))
    except OSError:
        return  # without a proxy the refusal comes, and the line goes, before all of it is sent
    if sent.status == 413 and not sent.is_ours:
        yield Finding(
            Level.WARNING,
            "body_size",
            "The proxy refuses bodies of 7 MiB: allow 8 MiB (nginx: client_max_body_size 8m).",
        )


def _inside(url: str) -> Iterator[Finding]:
    shown = [path for path in ("/metrics", "/health/ready") if _ask(f"{url}{path}").is_ours]
    if shown:
        yield Finding(
            Level.WARNING,
            "inside",
            f"{' and '.join(shown)} can be read from the outside: they need no token, so let the "
            "proxy answer 404 there (deploy/proxies has how).",
        )


def _stream(url: str, environ: Mapping[str, str], *, patient: bool) -> Iterator[Finding]:
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
    headers = {
        "Authorization": f"Bearer {json.loads(got.body)['access_token']}",
        "Accept-Encoding": "gzip",
    }
    address = f"{url}/api/v1/agents/{client_id}/subscribe"
    request = urllib.request.Request(address, headers=headers)  # noqa: S310 - the operator's own address
    began = time.monotonic()
    try:
        with _opener.open(request, timeout=FIRST_FRAME_SECONDS) as stream:
            if "Content-Encoding" in stream.headers:
                yield _buffered("it is compressed")
            stream.read(1)
            took = time.monotonic() - began
            if took > 1:
                yield _buffered(f"the first byte took {took:.1f} s")
    except TimeoutError:
        yield _buffered("nothing came")
    else:
        if patient:
            yield from _silence(address, headers)


def _silence(address: str, headers: Mapping[str, str]) -> Iterator[Finding]:
    """Whether a stream on which nothing happens lives to its first heartbeat."""
    request = urllib.request.Request(address, headers=dict(headers))  # noqa: S310 - likewise
    began = time.monotonic()
    heard = b""
    try:
        with _opener.open(request, timeout=HEARTBEAT_SECONDS) as stream:
            while b"event: heartbeat" not in heard:
                line = stream.readline()
                if not line:
                    break
                heard = line
    except (OSError, HTTPException):
        heard = b""
    if b"event: heartbeat" not in heard:
        yield Finding(
            Level.WARNING,
            "silence",
            f"A stream was ended after {time.monotonic() - began:.0f} s, before its first heartbeat: let the "
            "proxy wait for 90 s (nginx: proxy_read_timeout 90s; HAProxy: timeout server 90s).",
        )


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
