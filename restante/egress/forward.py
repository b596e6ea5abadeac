"""The operator's forward proxy: a tunnel (HTTP CONNECT, RFC 9110 section 9.3.6) to the judged address.

The proxy is told an address and never a name, so it dials what was judged or nothing. TLS is
spoken through the tunnel: the proxy sees no request and no certificate is checked for its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from restante.egress.deadline import Deadline
from restante.egress.names import parse_host
from restante.egress.ranges import Address, parse_address
from restante.egress.refusal import CallFailed, Cause, EgressRefused
from restante.egress.resolve import Resolver
from restante.egress.url import parse_port

LOOKUP_SECONDS = 3.0
HEAD_BYTES = 8 * 1024
_STATUS_LINE = re.compile(rb"HTTP/1\.[01] (\d{3})(?:[ \r]|$)")


class _Stream(Protocol):
    def send(self, data: bytes) -> None: ...

    def receive(self) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Forward:
    """RESTANTE_EGRESS_PROXY: where it is, and how its name is looked up."""

    host: str
    port: int
    resolver: Resolver

    def addresses(self, deadline: Deadline) -> Iterator[Address]:
        """Where the proxy is; it is the operator's, so nothing is judged. Raises CallFailed."""
        literal = parse_address(self.host)
        if literal is not None:
            yield literal
            return
        for text in self.resolver(self.host, self.port, deadline.left(LOOKUP_SECONDS)):
            address = parse_address(text)
            if address is not None:
                yield address


def open_tunnel(stream: _Stream, address: Address, port: int) -> None:
    """Have the proxy dial; CallFailed(CONNECT) where it does not."""
    host = f"[{address}]" if address.version == 6 else str(address)
    authority = f"{host}:{port}"
    stream.send(f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode())
    got = b""
    while b"\r\n\r\n" not in got:
        data = stream.receive()
        got += data
        if not data or len(got) > HEAD_BYTES:
            raise CallFailed(Cause.CONNECT, f"the forward proxy gave no answer about {authority}")
    head, _, early = got.partition(b"\r\n\r\n")
    status = _STATUS_LINE.match(head)
    if status is None or not status[1].startswith(b"2"):
        said = "no HTTP" if status is None else status[1].decode()
        raise CallFailed(Cause.CONNECT, f"the forward proxy answered {said} about {authority}")
    if early:  # nobody speaks before we do
        raise CallFailed(Cause.PROTOCOL, "there are bytes in the tunnel before the first of ours")


def parse_forward(text: str) -> tuple[str, int] | None:
    """`http://host:port` → (host, port); "": None. ValueError has the end of the setting's sentence."""
    if not text:
        return None
    scheme, _, place = text.removesuffix("/").partition("://")
    if scheme.lower() != "http" or "@" in place or "/" in place:
        raise ValueError("has to be http://host:port, without a path, a user or a password")
    name, _, port = place.rpartition(":")
    try:
        return parse_host(name)[0], parse_port(port)
    except EgressRefused as error:
        raise ValueError(f"has to be http://host:port ({error.note})") from None
