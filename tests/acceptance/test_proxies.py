"""nginx, HAProxy and Caddy by the samples of deploy/proxies, before a served installation, over TLS."""

from __future__ import annotations

import http.client
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import trustme

from tests.acceptance.conftest import upgraded
from tests.acceptance.proxies import Caddy, HAProxy, Nginx, Proxy
from tests.acceptance.stage import Stage
from tests.support.listening import Listener
from tests.support.ports import free_port
from tests.support.serving import RestanteCommand, Served
from tests.support.unavailable import had
from tests.support.waiting import wait_until

ODD = "/api/v1//agents/%61%2Fb/..%2f/%2e/memory/p/a%2Fb%3F%25/?q=%41+b&r=%2F"


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def tls(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


@pytest.fixture(params=[Nginx, HAProxy, Caddy])
def kind(request: pytest.FixtureRequest) -> type[Proxy]:
    one: type[Proxy] = request.param
    had(one.program)
    return one


@pytest.fixture
def before(
    kind: type[Proxy], authority: trustme.CA, tmp_path: Path
) -> Iterator[Callable[..., Proxy]]:
    """Starts a proxy before what is at this host and port."""
    started: list[Proxy] = []

    def begin(upstream: str, port: int | None = None) -> Proxy:
        certificate = authority.issue_cert("localhost")
        folder = tmp_path / f"proxy-{len(started)}"
        started.append(kind(folder, certificate, upstream, port or free_port()))
        return started[-1]

    yield begin
    for one in started:
        one.stop()


class Echo(BaseHTTPRequestHandler):
    """Tells what arrived."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        told = json.dumps({"path": self.path, "fields": dict(self.headers)}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def echo() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def get(url: str, path: str, tls: ssl.SSLContext, **fields: str) -> tuple[int, bytes]:
    """Status and content; the path goes out as it is written here."""
    parts = urlsplit(url)
    connection = http.client.HTTPSConnection(
        parts.hostname or "", parts.port, context=tls, timeout=20
    )
    try:
        connection.request("GET", path, headers=fields)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def test_targets_arrive_as_sent_and_nobody_writes_whence_he_comes(
    before: Callable[..., Proxy], echo: str, tls: ssl.SSLContext
) -> None:
    proxy = before(echo)
    claimed = {"X-Forwarded-For": "192.0.2.1", "X-Forwarded-Proto": "http"}

    def seen() -> dict[str, Any] | None:
        status, content = get(proxy.url, ODD, tls, **claimed, **{"X-Forwarded-Host": "evil"})
        return json.loads(content) if status == 200 else None

    wait_until(lambda: seen() is not None, "the proxy has found what is behind it")
    told = seen()
    assert told is not None
    assert told["path"] == ODD
    fields = {name.lower(): text for name, text in told["fields"].items()}
    assert fields["host"] == f"localhost:{proxy.port}"
    assert fields["x-forwarded-for"] == "127.0.0.1"
    assert fields["x-forwarded-proto"] == "https"
    assert fields["x-forwarded-host"] == f"localhost:{proxy.port}"
    for inside in ("/metrics", "/health/ready"):
        assert get(proxy.url, inside, tls)[0] == 404


@pytest.fixture(scope="module")
def stage(
    migrated_on: Callable[[str], str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Stage, int]]:
    """A served installation whose public address is that of a proxy, and the proxies' port, in turn."""
    url, port, folder = migrated_on("sqlite"), free_port(), tmp_path_factory.mktemp("served")
    settings = {
        "RESTANTE_INSTANCE": str(folder / "instance"),
        "RESTANTE_TRUSTED_PROXIES": "1",
        "RESTANTE_PUBLIC_URL": f"https://localhost:{port}",
    }
    served = Served(url, log=folder / "log", settings=settings)
    try:
        served.wait_until_ready()
        one = Stage(upgraded(url), served)
        yield one, port
        one.close()
        one.database.engine.dispose()
    finally:
        served.process.kill_group()


def listen(stage: Stage, proxy: Proxy, tls: ssl.SSLContext) -> Listener:
    address = stage.address("subscribe", url=proxy.url)
    stage.listeners.append(Listener(address, stage.token(stage.agent), tls=tls))
    return stage.listeners[-1]


def test_a_stream_through_it_and_what_doctor_finds(
    before: Callable[..., Proxy],
    stage: tuple[Stage, int],
    tls: ssl.SSLContext,
    authority: trustme.CA,
    tmp_path: Path,
) -> None:
    """A proxy that buffers a stream never lets its first frames out: they are far smaller than a buffer."""
    one, port = stage
    proxy = before(urlsplit(one.served.url).netloc, port)
    wait_until(lambda: get(proxy.url, "/problems", tls)[0] == 200, "the proxy has found it")
    listener = listen(one, proxy, tls)
    listener.wait_for("ready")
    listener.wait_for_ring(one.publish()["sequence_number"])
    trusted = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(trusted))
    settings = {
        **one.served.settings,
        "SSL_CERT_FILE": str(trusted),
        "RESTANTE_CLIENT_ID": one.agent["client_id"],
        "RESTANTE_CLIENT_SECRET": one.agent["client_secret"],
    }
    command = RestanteCommand(one.served.database_url, settings=settings)
    found = command.json("doctor", "--url", proxy.url)["findings"]
    assert [finding for finding in found if finding["level"] != "note"] == []


@pytest.mark.parametrize("kind", [Nginx, HAProxy], indirect=True)
def test_a_reload_keeps_streams_for_a_while_and_then_ends_them(
    before: Callable[..., Proxy], stage: tuple[Stage, int], tls: ssl.SSLContext
) -> None:
    one, port = stage
    proxy = before(urlsplit(one.served.url).netloc, port)
    wait_until(lambda: get(proxy.url, "/problems", tls)[0] == 200, "the proxy has found it")
    listener = listen(one, proxy, tls)
    listener.wait_for("ready")
    proxy.reload()
    wait_until(lambda: "x-generation" in head(proxy.url, "/problems", tls), "the new settings")
    assert not listener.ended.is_set()
    listener.wait_for_ring(one.publish()["sequence_number"])

    def listens_anew() -> Listener | None:
        """None: one of the old processes has taken it, which had not heard of the new settings yet."""
        again = listen(one, proxy, tls)
        again.wait_for("ready")
        return again if "x-generation" in again.head.lower() else None

    again = wait_until(listens_anew, "a stream by the new settings")
    wait_until(listener.ended.is_set, "the old stream's end")
    again.wait_for_ring(one.publish()["sequence_number"])


def head(url: str, path: str, tls: ssl.SSLContext) -> str:
    """The fields of an answer, in lower case; none where the proxy is between its processes."""
    parts = urlsplit(url)
    connection = http.client.HTTPSConnection(
        parts.hostname or "", parts.port, context=tls, timeout=20
    )
    try:
        connection.request("GET", path)
        return str(connection.getresponse().headers).lower()
    except OSError:
        return ""
    finally:
        connection.close()
