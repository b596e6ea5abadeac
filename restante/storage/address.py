"""Where a database is: SQLAlchemy's URL, which may here name several hosts.

    mysql://user:password@db1,db2:3307,[fd00::3]/name

are the members of one MySQL group (members.py). Pure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlalchemy import URL
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

PORT = 3306
BACKENDS = ("mysql", "mariadb", "sqlite")
# as SQLAlchemy reads it: a user without a colon, a password without an @
_PARTS = re.compile(r"([\w+]+://(?:[^:/]*(?::[^@]*)?@)?)([^/?]*)(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Address:
    """`url` is that of the first host; `hosts` are all, with their ports; none for SQLite."""

    url: URL
    hosts: tuple[tuple[str, int], ...]

    @property
    def place(self) -> str:
        """Which database it is, in whatever order its hosts are named; tells no user and no password."""
        server = f"{self.url.host}|{self.url.port}"
        if len(self.hosts) > 1:
            server = ",".join(f"{host}:{port}" for host, port in sorted(self.hosts))
        return f"{server}|{self.url.database}"

    @property
    def shown(self) -> str:
        """The URL as people are shown it: without password, and without options, which may hold some."""
        servers = ",".join(f"[{h}]:{p}" if ":" in h else f"{h}:{p}" for h, p in self.hosts)
        user = f"{self.url.username}@" if self.url.username else ""
        return f"{self.url.drivername}://{user}{servers}/{self.url.database}"

    @property
    def name(self) -> str:
        """The same with the kind of database."""
        return f"{self.url.get_backend_name()}|{self.place}"


def parse_address(text: str) -> Address:
    """Read a database URL. Raises ArgumentError where it is none."""
    parts = _PARTS.fullmatch(text)
    if parts is None:
        raise ArgumentError("no database URL")
    before, hosts, after = parts.groups()
    try:
        urls = [make_url(f"{before}{host}{after}") for host in hosts.split(",")]
    except ValueError as error:  # a port that is no number
        raise ArgumentError(str(error)) from None
    found = tuple((url.host, url.port or PORT) for url in urls if url.host)
    if len(urls) > 1 and len(set(found)) != len(urls):
        raise ArgumentError("a host is missing between commas, or named twice")
    return Address(urls[0], found)


def check_database_url(text: str) -> str:
    """The URL of a database that there can be a house on; else ValueError."""
    try:
        address = parse_address(text)
    except ArgumentError:
        raise ValueError("is no database URL; write mysql://user:password@host/name") from None
    url = address.url
    if url.get_backend_name() not in BACKENDS:
        raise ValueError(
            "names a database that is not supported; use mysql://, mariadb:// or sqlite:///"
        )
    if not url.database:
        raise ValueError("names no database; put its name (SQLite: its file) after the last slash")
    if url.get_backend_name() == "mariadb" and len(address.hosts) > 1:
        raise ValueError("names several hosts, which only a MySQL group has; use mysql:// for it")
    if url.get_backend_name() == "sqlite" and url.database == ":memory:":
        raise ValueError("is SQLite in memory, which forgets everything; name a file")
    return text
