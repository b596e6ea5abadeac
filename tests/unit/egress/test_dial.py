"""Real connections: the judged address, the URL's name for TLS, and deadlines that hold."""

from __future__ import annotations

import socket
import ssl
import threading
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
import trustme

from restante.egress.deadline import Deadline
from restante.egress.dial import Dialler, Patience, _Tls, _Wire, tls_context
from restante.egress.refusal import CallFailed, Cause, EgressRefused
from restante.egress.url import parse_url
from tests.unit.egress.canned import OK, Clock, Names
from tests.unit.egress.servers import NAME, egress_to, saying, serving


def test_the_judged_address_is_dialled_under_the_urls_name(
    authority: trustme.CA, ca_file: Path
) -> None:
    names = Names([["127.0.0.1"], ["127.0.0.2"]])
    with serving(authority, saying(OK)) as server:
        egress = egress_to(server, ca_file=ca_file, names=names)
        got = egress.send("POST", server.url, fields={"X-A": "b"}, body=b"x" * 300_000)
    assert (got.status, got.body, str(got.address)) == (200, b"ok", "127.0.0.1")
    assert server.names == [NAME]
    (request,) = server.requests
    assert request.startswith(f"POST /hook HTTP/1.1\r\nHost: {NAME}:{server.port}\r\n".encode())
    assert request.endswith(b"\r\n\r\n" + b"x" * 300_000)
    assert names.asked == [NAME]
    assert got.certificate is not None
    assert got.certificate.names == (NAME,)
    assert got.certificate.expires_at > datetime(2026, 1, 1)


def test_a_literal_that_is_named_is_checked_as_an_address(
    authority: trustme.CA, ca_file: Path
) -> None:
    with serving(authority, saying(OK), name="127.0.0.1") as server:
        target = parse_url(f"https://127.0.0.1:{server.port}/")
        dialler = Dialler(tls_context(ca_file), Patience())
        line = dialler(ip_address("127.0.0.1"), target, Deadline(10, Clock()))
        line.close()
        other = parse_url(f"https://127.0.0.2:{server.port}/")
        with pytest.raises(CallFailed) as failed:
            dialler(ip_address("127.0.0.1"), other, Deadline(10, Clock()))
    assert failed.value.cause is Cause.TLS


def certificates() -> dict[str, dict[str, object]]:
    past = datetime.now(UTC) - timedelta(days=1)
    return {
        "another name": {"name": "other.example.com"},
        "a name above": {"name": "example.com"},
        "expired": {"not_after": past, "not_before": past - timedelta(days=1)},
    }


@pytest.mark.parametrize("kind", certificates())
def test_a_certificate_that_will_not_do(authority: trustme.CA, ca_file: Path, kind: str) -> None:
    certificate = certificates()[kind]
    with (
        serving(authority, saying(OK), **certificate) as server,
        pytest.raises(CallFailed) as failed,
    ):
        egress_to(server, ca_file=ca_file).send("POST", server.url, fields={}, body=b"secret")
    assert failed.value.cause is Cause.TLS
    assert server.requests == []


def test_an_authority_that_nobody_added_is_not_trusted(authority: trustme.CA) -> None:
    with serving(authority, saying(OK)) as server, pytest.raises(CallFailed) as failed:
        egress_to(server, ca_file=None).send("GET", server.url, fields={})
    assert failed.value.cause is Cause.TLS
    assert server.requests == []


def test_the_authority_of_the_file_is_added_to_the_systems(ca_file: Path) -> None:
    alone, both = tls_context(None), tls_context(ca_file)
    assert both.cert_store_stats()["x509_ca"] == alone.cert_store_stats()["x509_ca"] + 1
    assert both.check_hostname
    assert both.verify_mode is ssl.CERT_REQUIRED


def test_the_systems_authorities_are_trusted(
    authority: trustme.CA, ca_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(ca_file))  # how OpenSSL is told where they are
    with serving(authority, saying(OK)) as server:
        assert egress_to(server, ca_file=None).send("GET", server.url, fields={}).ok


def test_the_environment_changes_nothing(
    authority: trustme.CA, ca_file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    keys = tmp_path / "keys"
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
        monkeypatch.setenv(name.lower(), "http://127.0.0.1:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.setenv("SSLKEYLOGFILE", str(keys))
    with serving(authority, saying(OK)) as server:
        assert egress_to(server, ca_file=ca_file).send("GET", server.url, fields={}).ok
    assert not keys.exists()


def test_redirects_are_not_followed_and_a_large_answer_is_cut(
    authority: trustme.CA, ca_file: Path
) -> None:
    answer = b"HTTP/1.1 307 X\r\nLocation: /elsewhere\r\n\r\n" + b"x" * 1_000_000
    with serving(authority, saying(answer)) as server:
        got = egress_to(server, ca_file=ca_file).send("POST", server.url, fields={}, body=b"{}")
    assert (got.status, len(got.body), got.truncated) == (307, 4096, True)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("raw", "body"),
    [
        (b"HTTP/1.0 200 OK\r\n\r\nok", b"ok"),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", b""),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", None),
        (b"HTTP/1.1 200 OK\r\nContent-Le", None),
        (b"", None),
    ],
)
@pytest.mark.parametrize("notified", [False, True])
def test_a_peer_that_leaves_with_or_without_a_word_of_tls(
    authority: trustme.CA, ca_file: Path, raw: bytes, body: bytes | None, *, notified: bool
) -> None:
    def leaving(line: ssl.SSLSocket) -> None:
        line.sendall(raw)
        if notified:
            line.unwrap()

    with serving(authority, leaving) as server:
        egress = egress_to(server, ca_file=ca_file)
        if body is None:
            with pytest.raises(CallFailed):
                egress.send("POST", server.url, fields={})
            return
        got = egress.send("POST", server.url, fields={})
    assert (got.status, got.body) == (200, body)
    assert got.certificate is not None
    assert got.certificate.names == (NAME,)


def test_a_certificate_with_thousands_of_names_is_told_in_part(
    authority: trustme.CA, ca_file: Path
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(NAME, *(f"n{i}.example.com" for i in range(150))).configure_cert(context)
    wire = _Wire(Dribble(context, Clock()), Deadline(30, Clock()), 5.0)  # type: ignore[arg-type]  # what a socket does here
    told = _Tls(wire, tls_context(ca_file), NAME).certificate
    assert told.names[0] == NAME
    assert len(told.names) == 100


def test_a_peer_that_says_nothing_is_left(authority: trustme.CA, ca_file: Path) -> None:
    left = threading.Event()
    with serving(authority, lambda _: left.wait(10) and None) as server:
        egress = egress_to(server, ca_file=ca_file, step_seconds=0.05)
        with pytest.raises(CallFailed) as failed:
            egress.send("POST", server.url, fields={})
        left.set()
    assert failed.value.cause is Cause.TIMEOUT


def test_a_port_that_nobody_listens_on(authority: trustme.CA, ca_file: Path) -> None:
    with serving(authority, saying(OK)) as server:
        pass
    with pytest.raises(CallFailed) as failed:
        egress_to(server, ca_file=ca_file).send("POST", server.url, fields={})
    assert failed.value.cause is Cause.CONNECT


def test_loopback_is_not_dialled_unless_it_is_allowed(authority: trustme.CA, ca_file: Path) -> None:
    with serving(authority, saying(OK)) as server:
        egress = egress_to(server, ca_file=ca_file)
        with pytest.raises(EgressRefused):
            egress.send("POST", "https://other.example.com/", fields={})
    assert server.requests == []


def test_plain_http_to_an_issuer_on_loopback() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        target = parse_url(f"http://127.0.0.1:{listener.getsockname()[1]}/")
        line = Dialler(tls_context(None), Patience())(
            ip_address("127.0.0.1"), target, Deadline(10, Clock())
        )
        peer, _ = listener.accept()
        with peer:
            line.send(b"ask")
            assert peer.recv(10) == b"ask"
            peer.sendall(b"answer")
            assert line.receive() == b"answer"
        assert line.receive() == b""
        assert line.certificate is None
        line.close()


def test_a_peer_that_reads_nothing_is_left() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(CallFailed) as failed:
        _Wire(ours, Deadline(10, Clock()), 0.05).send(b"x" * 10_000_000)
    assert failed.value.cause is Cause.TIMEOUT


class Dribble:
    """A socket whose peer is a TLS server in memory that sends a byte a second, or all at once."""

    def __init__(self, context: ssl.SSLContext, clock: Clock) -> None:
        self._clock = clock
        self._to_peer, self._from_peer = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._peer = context.wrap_bio(self._to_peer, self._from_peer, server_side=True)
        self.slow = False
        self.waits: list[float] = []
        self._unsent = b""

    def settimeout(self, seconds: float) -> None:
        self.waits.append(seconds)

    def send(self, data: memoryview) -> int:
        return self._to_peer.write(data)

    def recv(self, size: int) -> bytes:
        if not self._unsent:
            try:
                self._peer.do_handshake()
                self._peer.write(b"x" * 1000)
            except ssl.SSLWantReadError:
                pass
            self._unsent = self._from_peer.read()
        size = 1 if self.slow else size
        self._clock.now += self.slow
        part, self._unsent = self._unsent[:size], self._unsent[size:]
        return part

    def close(self) -> None:
        pass


def hear(dribble: Dribble, wire: _Wire, context: ssl.SSLContext) -> None:
    line = _Tls(wire, context, NAME)
    dribble.slow = True
    while line.receive():
        pass


@pytest.mark.parametrize("when", ["handshake", "answer"])
def test_a_record_sent_a_byte_a_second_ends_with_the_calls_time(
    authority: trustme.CA, ca_file: Path, when: str
) -> None:
    """Each wait is short, and no TLS record is ever whole: a time-out for each wait would never come."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(NAME).configure_cert(context)
    clock = Clock()
    dribble = Dribble(context, clock)
    wire = _Wire(dribble, Deadline(30, clock), 5.0)  # type: ignore[arg-type]  # what a socket does here
    dribble.slow = when == "handshake"
    began = clock.now
    with pytest.raises(CallFailed) as failed:
        hear(dribble, wire, tls_context(ca_file))
    assert failed.value.cause is Cause.TIMEOUT
    assert clock.now - began == 30
    assert max(dribble.waits) == 5
    assert min(dribble.waits) == 1
