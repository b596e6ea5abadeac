"""The forward proxy: it dials the judged address, hears no name, and what it does not do is no call."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

import pytest
import trustme
from pydantic import ValidationError

from config import Settings
from restante.egress.allowance import Allowance
from restante.egress.client import Egress
from restante.egress.dial import Dialler, Patience, tls_context
from restante.egress.forward import Forward, open_tunnel, parse_forward
from restante.egress.policy import Policy
from restante.egress.refusal import CallFailed, Cause, EgressRefused
from tests.unit.egress.canned import OK, Names
from tests.unit.egress.servers import NAME, Server, saying, serving
from workers.egress import make_egress


@dataclass
class Proxy:
    """What it was asked, and what it says."""

    port: int
    said: bytes = b"HTTP/1.1 200 Connection established\r\n\r\n"
    heads: list[bytes] = field(default_factory=list)


def _serve(listener: socket.socket, proxy: Proxy) -> None:
    with listener.accept()[0] as client:
        head = b""
        while b"\r\n\r\n" not in head:
            head += client.recv(4096)
        proxy.heads.append(head)
        client.sendall(proxy.said)
        if b" 200 " not in proxy.said:
            return
        host, port = head.split()[1].decode().rsplit(":", 1)
        with socket.create_connection((host, int(port))) as there:
            back = threading.Thread(target=_pass_on, args=(there, client), daemon=True)
            back.start()
            _pass_on(client, there)
            back.join(10)


def _pass_on(source: socket.socket, sink: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


@contextmanager
def proxied(said: bytes | None = None) -> Iterator[Proxy]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        proxy = Proxy(listener.getsockname()[1])
        if said is not None:
            proxy.said = said
        threading.Thread(target=_serve, args=(listener, proxy), daemon=True).start()
        yield proxy


def egress(server: Server, ca_file: Path, proxy: Proxy, names: Names) -> Egress:
    """Through the proxy; its own name is looked up apart."""
    allowed = Allowance(hosts=frozenset({(NAME, server.port)}))
    forward = Forward("squid", proxy.port, Names([["127.0.0.1"]]))
    dial = Dialler(tls_context(ca_file), Patience(), forward=forward)
    return Egress(Policy(allowance=allowed), resolver=names, dial=dial)


def test_the_proxy_is_asked_for_the_judged_address(authority: trustme.CA, ca_file: Path) -> None:
    names = Names([["127.0.0.1"], ["127.0.0.2"]])
    with serving(authority, saying(OK)) as server, proxied() as proxy:
        got = egress(server, ca_file, proxy, names).send(
            "POST", server.url, fields={"X-Secret": "b"}, body=b"x" * 100_000
        )
    assert (got.status, got.body, str(got.address)) == (200, b"ok", "127.0.0.1")
    place = f"127.0.0.1:{server.port}"
    assert proxy.heads == [f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n".encode()]
    assert server.names == [NAME]
    assert names.asked == [NAME]


def test_the_setting_is_what_the_calls_of_a_process_go_by(
    authority: trustme.CA, ca_file: Path, tmp_path: Path
) -> None:
    with serving(authority, saying(OK), name="127.0.0.1") as server, proxied() as proxy:
        place = f"127.0.0.1:{server.port}"
        settings = Settings(
            instance=tmp_path,
            egress_allow=place,
            egress_ca_file=ca_file,
            egress_proxy=f"http://127.0.0.1:{proxy.port}",
        )
        got = make_egress(settings).send("POST", f"https://{place}/hook", fields={}, body=b"x")
    assert got.status == 200
    assert [head.split()[1].decode() for head in proxy.heads] == [place]


def test_what_is_refused_never_reaches_the_proxy(authority: trustme.CA, ca_file: Path) -> None:
    with serving(authority, saying(OK)) as server, proxied() as proxy:
        client = egress(server, ca_file, proxy, Names([["169.254.169.254"]]))
        with pytest.raises(EgressRefused):
            client.send("POST", server.url, fields={}, body=b"x")
    assert proxy.heads == []


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", Cause.CONNECT),
        (b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1/\r\n\r\n", Cause.CONNECT),
        (b"HTTP/1.1 2\r\n\r\n", Cause.CONNECT),
        (b"SSH-2.0-squid\r\n\r\n", Cause.CONNECT),
        (b"", Cause.CONNECT),
        (b"HTTP/1.1 502 " + b"x" * 20_000, Cause.CONNECT),
        (b"HTTP/1.1 204 OK\r\n\r\nearly", Cause.PROTOCOL),
    ],
)
def test_a_proxy_that_does_not_dial(
    authority: trustme.CA, ca_file: Path, said: bytes, cause: Cause
) -> None:
    with serving(authority, saying(OK)) as server, proxied(said) as proxy:
        client = egress(server, ca_file, proxy, Names([["127.0.0.1"]]))
        with pytest.raises(CallFailed) as failed:
            client.send("POST", server.url, fields={}, body=b"secret")
    assert failed.value.cause is cause
    assert server.requests == []


def test_addresses_of_ipv6_are_written_as_such() -> None:
    class Wire:
        sent = b""

        def send(self, data: bytes) -> None:
            self.sent += data

        def receive(self) -> bytes:
            return b"HTTP/1.1 200 OK\r\n\r\n"

    wire = Wire()
    open_tunnel(wire, ip_address("2001:db8::1"), 443)
    assert wire.sent == b"CONNECT [2001:db8::1]:443 HTTP/1.1\r\nHost: [2001:db8::1]:443\r\n\r\n"


def test_a_proxy_that_is_not_there(ca_file: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        gone = listener.getsockname()[1]
    client = egress(Server(443), ca_file, Proxy(gone), Names([["127.0.0.1"]]))
    with pytest.raises(CallFailed) as failed:
        client.send("GET", f"https://{NAME}:443/", fields={})
    assert failed.value.cause is Cause.CONNECT


@pytest.mark.parametrize("text", ["http://squid:3128", "HTTP://squid:3128/"])
def test_how_it_is_named(text: str) -> None:
    assert parse_forward(text) == ("squid", 3128)
    assert parse_forward("http://[fd00::7]:3128") == ("fd00::7", 3128)
    assert parse_forward("") is None


@pytest.mark.parametrize(
    "text",
    [
        *("squid:3128", "https://squid:3128", "http://user:word@squid:3128", "http://squid"),
        *("http://squid:3128/path", "http://squid:0", "http://:3128", "socks5://squid:1080"),
    ],
)
def test_what_names_no_proxy_stops_the_start(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESTANTE_EGRESS_PROXY", text)
    with pytest.raises(ValidationError, match=r"http://host:port"):
        Settings()
