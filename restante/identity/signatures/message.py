"""A request as its signature sees it: what was sent, before any framework decoded it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_DEFAULT_PORTS = {"https": "443", "http": "80"}
_OBSOLETE_FOLD = re.compile(r"[ \t]*\r?\n[ \t]+")
_ABSOLUTE = re.compile(r"https?://([^/?#]*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Message:
    """`target`: as it stood in the request line. `host`: the Host field.

    `fields`: the lines of each field by its name in lower case. `origin`: scheme and authority
    under which the server is known (RESTANTE_PUBLIC_URL), whose scheme the request is said to have.
    """

    method: str
    target: str
    host: str
    origin: str
    fields: Mapping[str, Sequence[str]]

    @property
    def scheme(self) -> str:
        """RFC 9421, section 2.2.4."""
        return self.origin.partition("://")[0]

    @property
    def authority(self) -> str:
        """RFC 9421, section 2.2.3: in lower case, without the scheme's default port.

        A target in absolute form names it in place of Host (RFC 9112, section 3.2.2).
        """
        named = _ABSOLUTE.match(self.target)
        return canonical_authority(self.host if named is None else named[1], self.scheme)

    @property
    def is_for_us(self) -> bool:
        """Whether the authority is the one under which the server is known."""
        return self.authority == self.origin.partition("://")[2]

    @property
    def path(self) -> str:
        """RFC 9421, section 2.2.6: undecoded, "/" where it is empty."""
        return self._local.partition("?")[0] or "/"

    @property
    def has_query(self) -> bool:
        """Whether the target has a query, be it an empty one."""
        return "?" in self._local

    @property
    def query(self) -> str:
        """RFC 9421, section 2.2.7: with its question mark, which stands alone where there is none."""
        return "?" + self._local.partition("?")[2]

    @property
    def url(self) -> str:
        """The target URI (RFC 9421, section 2.2.2)."""
        return f"{self.scheme}://{self.authority}{self._local}"

    @property
    def _local(self) -> str:
        return _ABSOLUTE.sub("", self.target, count=1)


def canonical_authority(text: str, scheme: str) -> str:
    """An authority in lower case, without the scheme's default port."""
    return text.strip().lower().removesuffix(f":{_DEFAULT_PORTS[scheme]}")


def field_value(lines: Sequence[str]) -> str:
    """Lines of a field as one value (RFC 9421, section 2.1)."""
    return ", ".join(_OBSOLETE_FOLD.sub(" ", line.strip()) for line in lines)
