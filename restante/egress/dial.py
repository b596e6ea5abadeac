"""Connections to an address that was judged, with the name of the URL for SNI and certificate.

TLS runs over memory buffers and not over the socket, so that the deadline is looked at before
every wait for bytes. A socket's own time-out is for one wait: a peer that sends a TLS record one
byte at a time could hold one read for hours.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol, TypeVar

from restante.egress.deadline import Deadline
from restante.egress.forward import Forward, open_tunnel
from restante.egress.names import NAME_LENGTH
from restante.egress.ranges import Address
from restante.egress.refusal import CallFailed, Cause
from restante.egress.url import Target

CHUNK = 16 * 1024
MOST_NAMES = 100
Step = TypeVar("Step")


@dataclass(frozen=True, slots=True)
class Certificate:
    """What the peer's certificate says: the names it is for (at most 100), and when it ends (UTC)."""

    names: tuple[str, ...]
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Patience:
    """How long one step of a call may wait, in seconds."""

    connect_seconds: float = 3.0
    step_seconds: float = 5.0


class Line(Protocol):
    """An open connection. Every method may raise CallFailed."""

    @property
    def certificate(self) -> Certificate | None:
        """The peer's certificate; None without TLS."""
        ...

    def send(self, data: bytes) -> None:
        """Send all of it."""
        ...

    def receive(self) -> bytes:
        """Some bytes, as they come; b"" at the end."""
        ...

    def close(self) -> None:
        """Let go; never raises."""
        ...


Dial = Callable[[Address, Target, Deadline], Line]


def tls_context(ca_file: Path | None) -> ssl.SSLContext:
    """Certificates are checked against the system's authorities and those of the file.

    Not made by ssl.create_default_context(), which writes session keys where SSLKEYLOGFILE says.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    context.load_default_certs()
    if ca_file is not None:
        context.load_verify_locations(ca_file)
    return context


class Dialler:
    """Opens a line to an address, through the forward proxy if there is one: TLS for https."""

    def __init__(
        self, context: ssl.SSLContext, patience: Patience, *, forward: Forward | None = None
    ) -> None:
        self._context = context
        self._patience = patience
        self._forward = forward

    def __call__(self, address: Address, target: Target, deadline: Deadline) -> Line:
        """Connect; CallFailed(CONNECT) says that another address may be tried."""
        wire = self._wire(address, target.port, deadline)
        try:
            if self._forward is not None:
                open_tunnel(wire, address, target.port)
            if target.scheme == "http":
                return wire
            return _Tls(wire, self._context, target.host)
        except BaseException:
            wire.close()
            raise

    def _wire(self, address: Address, port: int, deadline: Deadline) -> _Wire:
        """To the address, or to the first of the proxy's that takes a connection."""
        forward = self._forward
        if forward is None:
            connection = _connect(address, port, deadline, self._patience)
            return _Wire(connection, deadline, self._patience.step_seconds)
        failed = CallFailed(Cause.CONNECT, "the forward proxy has no address")
        for place in forward.addresses(deadline):
            try:
                connection = _connect(place, forward.port, deadline, self._patience)
            except CallFailed as error:
                if error.cause is not Cause.CONNECT:
                    raise
                failed = error
            else:
                return _Wire(connection, deadline, self._patience.step_seconds)
        raise failed


def _connect(address: Address, port: int, deadline: Deadline, patience: Patience) -> socket.socket:
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    seconds = deadline.left(patience.connect_seconds)
    connection = None
    try:
        connection = socket.socket(family, socket.SOCK_STREAM)
        connection.settimeout(seconds)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.connect((str(address), port))
    except OSError as error:
        if connection is not None:
            connection.close()
        raise CallFailed(Cause.CONNECT, f"{address} port {port}: {error}") from None
    return connection


class _Wire:
    """The socket; each wait ends with the step's limit or the call's."""

    certificate = None

    def __init__(self, connection: socket.socket, deadline: Deadline, step_seconds: float) -> None:
        self._socket = connection
        self._deadline = deadline
        self._step_seconds = step_seconds

    def send(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            self._socket.settimeout(self._deadline.left(self._step_seconds))
            with _failing():
                view = view[self._socket.send(view[:CHUNK]) :]

    def receive(self) -> bytes:
        self._socket.settimeout(self._deadline.left(self._step_seconds))
        with _failing():
            return self._socket.recv(CHUNK)

    def close(self) -> None:
        with suppress(OSError):
            self._socket.close()


class _Tls:
    """TLS over a wire, the handshake done and the certificate checked for the name."""

    def __init__(self, wire: _Wire, context: ssl.SSLContext, name: str) -> None:
        self._wire = wire
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_hostname=name)
        self._pump(self._tls.do_handshake)
        # now: once the peer has left, there may be no asking any more
        self.certificate = _certificate(self._tls)

    def send(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            part = view[:CHUNK]
            view = view[self._pump(lambda part=part: self._tls.write(part)) :]  # type: ignore[misc]  # bound now

    def receive(self) -> bytes:
        try:
            return self._pump(lambda: self._tls.read(CHUNK))
        except _Ended:
            return b""

    def close(self) -> None:
        self._wire.close()

    def _pump(self, step: Callable[[], Step]) -> Step:
        """Repeat a step of TLS, with what it wants to send sent and what it waits for received."""
        while True:
            try:
                done = step()
            except ssl.SSLWantReadError:
                self._flush()
                self._fill()
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                raise _Ended(Cause.TLS, "the peer ended the connection") from None
            except ssl.SSLError as error:
                with suppress(CallFailed):
                    self._flush()  # the alert that tells the peer why
                note = getattr(error, "verify_message", "") or str(error)
                raise CallFailed(Cause.TLS, note) from None
            else:
                self._flush()
                return done

    def _flush(self) -> None:
        if self._outgoing.pending:
            self._wire.send(self._outgoing.read())

    def _fill(self) -> None:
        data = self._wire.receive()
        if data:
            self._incoming.write(data)
        else:
            self._incoming.write_eof()


def _certificate(tls: ssl.SSLObject) -> Certificate:
    """What is shown of a certificate that was checked: names of hosts, and not so many as fill a page."""
    try:
        told = tls.getpeercert() or {}
        names = (str(pair[1]) for pair in told.get("subjectAltName", ()))
        ends = datetime.fromtimestamp(ssl.cert_time_to_seconds(str(told["notAfter"])), UTC)
    except (ValueError, KeyError, OverflowError):
        raise CallFailed(Cause.TLS, "the certificate is good, but cannot be read") from None
    shown = [name for name in names if name.isascii() and len(name) <= NAME_LENGTH]
    return Certificate(tuple(shown[:MOST_NAMES]), ends.replace(tzinfo=None))


class _Ended(CallFailed):
    """The peer ended the connection."""


@contextmanager
def _failing() -> Iterator[None]:
    """Have errors of a socket become CallFailed."""
    try:
        yield
    except TimeoutError:
        raise CallFailed(Cause.TIMEOUT, "the peer was silent for too long") from None
    except OSError as error:
        raise CallFailed(Cause.PROTOCOL, f"the connection broke: {error}") from None
