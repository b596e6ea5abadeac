"""`restante-agent webhook-serve`: a receiver of webhooks for trying things out."""

from __future__ import annotations

import json
import os
import secrets
import ssl
import sys
import threading
import time
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import click
import httpx2

from restante_agent.base_url import checked_url
from restante_agent.cli.exits import leave
from restante_agent.cli.screen import brief, printable, write_json
from restante_agent.errors import ConfigurationError, RestanteError, UnexpectedAnswer, Unreachable
from restante_agent.runtime.plan import GIVE_UP_SECONDS
from restante_agent.webhook import Receiver
from restante_agent.webhook_server import Came, WebhookServer
from restante_agent.wire.retry import RetryPolicy

JWKS_PATH = "/oauth/jwks.json"
ANSWER_SECONDS = 5.0


@click.command("webhook-serve")
@click.option(
    "--secret-file",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="The callback's secret; two lines while it rotates, the newest first. Where there is no such"
    " file, it is made, with a new secret.",
)
@click.option(
    "--url",
    envvar="RESTANTE_URL",
    show_envvar=True,
    help="The server's base URL: its keys are fetched there. Without it the secret alone is checked.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option("--port", type=click.IntRange(0, 65535), default=8443, show_default=True)
@click.option(
    "--cert",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A certificate (PEM), with --key. Without, it speaks plain HTTP, for a proxy with TLS in front.",
)
@click.option("--key", type=click.Path(path_type=Path, dir_okay=False), help="Its private key.")
@click.option(
    "--origin", help="Where it is called, like https://hooks.example.com; else by the Host field."
)
@click.option(
    "--status",
    type=click.IntRange(200, 599),
    default=204,
    show_default=True,
    help="The answer to deliveries: 204 acks, 202 leaves the ack to you, 500 is tried again.",
)
@click.option(
    "--give-up",
    "give_up_seconds",
    type=click.FloatRange(0),
    default=GIVE_UP_SECONDS,
    show_default=True,
    help="Seconds that the server at --url is waited for at the start; then it ends, with exit 6.",
)
@click.option("--count", type=click.IntRange(1), help="End after so many deliveries.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line on stdout.")
def webhook_serve(
    *,
    secret_file: Path,
    url: str | None,
    host: str,
    port: int,
    cert: Path | None,
    key: Path | None,
    origin: str | None,
    status: int,
    give_up_seconds: float,
    count: int | None,
    as_json: bool,
) -> None:
    """Print each delivery that is verified, answer challenges, refuse the rest with 401.

    It is for trying things out. What your own program does: docs/webhooks.md.
    """
    told = _Telling(count, as_json=as_json)
    try:
        there = _secrets(secret_file)
        jwks = None if url is None else _keys_of(checked_url(url))
        if jwks is not None:
            first_keys(jwks, give_up_seconds)  # so that a wrong URL is said now
        try:
            receiver = Receiver(there, jwks=jwks)
        except ValueError as error:
            raise ConfigurationError(f"{secret_file}: {error}") from None
        server = WebhookServer(
            host,
            port,
            receiver=receiver,
            tell=told,
            status=status,
            origin=None if origin is None else checked_url(origin),
            tls=_tls(cert, key),
        )
    except RestanteError as error:
        leave(error, as_json=as_json)
    told.end = lambda: threading.Thread(target=server.shutdown).start()
    told.listening(server, secure=cert is not None, checks_keys=jwks is not None)
    with server:
        try:
            server.serve_forever(poll_interval=0.1)
        except KeyboardInterrupt:
            click.echo(f"{told.deliveries} deliveries came", err=True)


def first_keys(
    jwks: Callable[[], dict[str, Any]],
    give_up_seconds: float,
    *,
    sleep: Callable[[float], None] = time.sleep,
    monotonic: Callable[[], float] = time.monotonic,
) -> None:
    """Have the keys once; a server that does not answer yet is asked again, and that is said once."""
    policy = RetryPolicy(attempts=sys.maxsize, budget_seconds=give_up_seconds, cap_seconds=5.0)
    began, random, tries = monotonic(), Random(), 0  # noqa: S311 - pauses only
    while True:
        tries += 1
        try:
            jwks()
        except Unreachable as error:
            waited = monotonic() - began
            wait = policy.wait_before(tries, error, waited_seconds=waited, random=random)
            if wait is None:
                raise
            if tries == 1:
                told = f"{error}; asking again, with growing pauses, for {give_up_seconds:g} s"
                click.echo(told, err=True)
            sleep(wait)
        else:
            return


class _Telling:
    """Writes what came, a line each; requests have threads of their own."""

    def __init__(self, count: int | None, *, as_json: bool) -> None:
        self.deliveries = 0
        self.end: Callable[[], None] = lambda: None
        self._count, self._as_json = count, as_json
        self._lock = threading.Lock()

    def __call__(self, came: Came) -> None:
        with self._lock:
            self.deliveries += came.kind == "delivery"
            if self._as_json:
                write_json(_members(came))
            else:
                print(_line(came), flush=True)
            if self._count is not None and self.deliveries >= self._count:
                self.end()

    def listening(self, server: WebhookServer, *, secure: bool, checks_keys: bool) -> None:
        host, port = str(server.server_address[0]), server.server_address[1]
        shown = f"[{host}]" if ":" in host else host
        where = f"{'https' if secure else 'http'}://{shown}:{port}"
        if self._as_json:
            write_json({"kind": "listening", "url": where, "checks_keys": checks_keys})
        else:
            print(f"Listening at {where}. Ctrl-C ends it.", flush=True)
        if not secure:
            click.echo(
                "Plain HTTP: only https is called, so put a proxy with TLS in front.", err=True
            )
        if not checks_keys:
            click.echo("Without --url (RESTANTE_URL) the secret alone is checked.", err=True)


def _members(came: Came) -> dict[str, Any]:
    members: dict[str, Any] = {
        "at": came.at.isoformat(timespec="microseconds").replace("+00:00", "Z"),
        "kind": came.kind,
        "status": came.status,
        "url": came.url,
    }
    if came.delivery is not None:
        members |= {"webhook_id": came.delivery.id, "body": came.delivery.body}
    if came.why is not None:
        members["why"] = came.why
    return members


def _line(came: Came) -> str:
    start = f"{came.at:%H:%M:%S} {came.kind} {came.status or '-'}"
    if came.delivery is None:
        return printable(f"{start}  {came.why or came.url}")
    body = came.delivery.body
    parts = [start, came.delivery.id]
    parts += [str(body[name]) for name in ("type", "project") if name in body]
    return printable("  ".join([*parts, brief(body.get("payload", body))]))


def _secrets(file: Path) -> list[str]:
    """The lines of the file, which is made where it is not there, for this user alone."""
    if not file.exists():
        secret = "whsec_" + b64encode(secrets.token_bytes(32)).decode()
        try:
            handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            raise ConfigurationError(f"--secret-file: {error}") from error
        with os.fdopen(handle, "w") as made:
            made.write(secret + "\n")
        click.echo(f"{file} is new: register the callback with the secret in it.", err=True)
    try:
        found = [line for line in file.read_text().splitlines() if line]
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"--secret-file: {error}") from error
    if not found:
        raise ConfigurationError(f"{file} is empty: remove it, and a secret is made")
    return found


def _keys_of(base_url: str) -> Callable[[], dict[str, Any]]:
    """What gets the server's key set, raising the errors of this package."""

    def get() -> dict[str, Any]:
        try:
            answer = httpx2.get(base_url + JWKS_PATH, timeout=ANSWER_SECONDS)
        except httpx2.TransportError as error:
            raise Unreachable(f"the keys of {base_url} cannot be had: {error}") from error
        try:
            found = answer.raise_for_status().json()
        except (httpx2.HTTPStatusError, json.JSONDecodeError) as error:
            raise UnexpectedAnswer(f"{base_url + JWKS_PATH} is no key set: {error}") from error
        if not isinstance(found, dict) or not isinstance(found.get("keys"), list):
            raise UnexpectedAnswer(f"{base_url + JWKS_PATH} is no key set")
        return found

    return get


def _tls(cert: Path | None, key: Path | None) -> ssl.SSLContext | None:
    if cert is None and key is None:
        return None
    if cert is None or key is None:
        raise ConfigurationError("--cert and --key go together")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(cert, key)
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError(f"--cert, --key: {error}") from error
    return context
