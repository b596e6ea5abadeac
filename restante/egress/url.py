"""One reading of a URL. What has two readings, or a second spelling, is refused (RFC 3986).

The standard library's urlsplit is not used: it drops tabs and line ends, and takes white space in
front, a zone id, or text behind a bracket.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from restante.egress.names import is_loopback_name, parse_host
from restante.egress.ranges import Address, unwrapped
from restante.egress.refusal import EgressRefused, Reason

LENGTH = 2048
DEFAULT_PORTS = {"https": 443, "http": 80}
_WRONG = re.compile(r"""[^!-~]|["<>\\^`{|}]|%(?![0-9A-Fa-f]{2})""")
_SPLIT = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/?#]*)(?P<rest>.*)")
_AUTHORITY = re.compile(r"(?P<host>\[[^\[\]]*\]|[^:\[\]]*)(?P<port>:[^:]*)?")
_PORT = re.compile(r"[1-9][0-9]{0,4}")


@dataclass(frozen=True, slots=True)
class Target:
    """A URL taken apart. `host` is lower case without brackets; `path` begins with / and has the query."""

    scheme: str
    host: str
    port: int
    path: str
    literal: Address | None

    @property
    def authority(self) -> str:
        """The Host field (RFC 9110 section 7.2): the port only where it is not the scheme's."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port == DEFAULT_PORTS[self.scheme] else f"{name}:{self.port}"

    @property
    def url(self) -> str:
        """The one spelling: what is stored is what is fetched."""
        return f"{self.scheme}://{self.authority}{self.path}"

    @property
    def is_loopback(self) -> bool:
        """Whether the text alone says this machine."""
        return is_loopback_name(self.host) or (self.literal is not None and is_here(self.literal))


def is_here(address: Address) -> bool:
    """Whether an address reaches this machine without a network."""
    inner = unwrapped(address)
    return inner.is_loopback or inner.is_unspecified


def parse_url(text: str) -> Target:
    """Take a URL with an authority apart; raises EgressRefused with the first thing that is wrong."""
    if len(text) > LENGTH:
        raise EgressRefused(Reason.LENGTH, f"{len(text)} characters, and {LENGTH} are the limit")
    if wrong := _WRONG.search(text):
        note = f"{wrong[0]!r} at character {wrong.start() + 1} has no place in a URL"
        other = (
            "" if wrong[0].isascii() else ": a name is written as xn--, a path with percent signs"
        )
        raise EgressRefused(Reason.CHARACTERS, note + other)
    if "#" in text:
        raise EgressRefused(Reason.FRAGMENT, "a fragment is never sent")
    parts = _SPLIT.fullmatch(text)
    scheme = parts["scheme"].lower() if parts else ""
    if parts is None or scheme not in DEFAULT_PORTS:
        raise EgressRefused(Reason.SCHEME, "it does not begin with https://")
    host, port = _authority(parts["authority"])
    host, literal = parse_host(host)
    rest = parts["rest"]
    return Target(
        scheme=scheme,
        host=host,
        port=DEFAULT_PORTS[scheme] if port is None else parse_port(port),
        path=rest if rest.startswith("/") else f"/{rest}",
        literal=literal,
    )


def parse_port(text: str) -> int:
    """A port in its one spelling; raises EgressRefused."""
    if not _PORT.fullmatch(text) or int(text) > 65535:
        raise EgressRefused(
            Reason.PORT, f"{text!r} is no port: 1 to 65535, no sign or zero in front"
        )
    return int(text)


def _authority(text: str) -> tuple[str, str | None]:
    if "@" in text:
        raise EgressRefused(Reason.USERINFO, "a user or password stands before the host")
    if "%" in text:
        raise EgressRefused(Reason.HOST, "the host is written with a percent sign")
    parts = _AUTHORITY.fullmatch(text)
    if parts is None:
        raise EgressRefused(Reason.HOST, f"{text!r} is no host and port")
    return parts["host"], None if parts["port"] is None else parts["port"][1:]
