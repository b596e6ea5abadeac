"""Which addresses are public unicast, by an explicit table.

`ipaddress.is_global` is not asked: on CPython 3.11 it is true for multicast, 6to4, NAT64, site-local
and IPv4-compatible addresses, and it changes with patch releases. The table follows the IANA
special-purpose address registries (RFC 6890, RFC 8190); each row names where the range is from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network


@dataclass(frozen=True, slots=True)
class Special:
    """A range that is not public unicast, what it is for, and who says so."""

    network: Network
    purpose: str
    source: str


def _rows(*rows: tuple[str, str, str]) -> tuple[Special, ...]:
    return tuple(Special(ip_network(text), purpose, source) for text, purpose, source in rows)


SPECIAL_V4 = _rows(
    ("0.0.0.0/8", "this network; reaches loopback on Linux", "RFC 791 section 3.2"),
    ("10.0.0.0/8", "private use", "RFC 1918"),
    ("100.64.0.0/10", "shared by a carrier's customers", "RFC 6598"),
    ("127.0.0.0/8", "loopback", "RFC 1122 section 3.2.1.3"),
    ("168.63.129.16/32", "a cloud's host, though public by number", "Azure WireServer"),
    ("169.254.0.0/16", "link-local", "RFC 3927"),
    ("172.16.0.0/12", "private use", "RFC 1918"),
    ("192.0.0.0/24", "IETF protocol assignments", "RFC 6890 section 2.1"),
    ("192.0.2.0/24", "documentation", "RFC 5737"),
    ("192.88.99.0/24", "6to4 relay anycast, withdrawn", "RFC 7526"),
    ("192.168.0.0/16", "private use", "RFC 1918"),
    ("198.18.0.0/15", "benchmarking", "RFC 2544"),
    ("198.51.100.0/24", "documentation", "RFC 5737"),
    ("203.0.113.0/24", "documentation", "RFC 5737"),
    ("224.0.0.0/4", "multicast", "RFC 5771"),
    ("240.0.0.0/4", "reserved, and limited broadcast", "RFC 1112 section 4, RFC 919"),
)

# First the ranges that have a name, then all that is not global unicast.
SPECIAL_V6 = _rows(
    ("::/128", "unspecified", "RFC 4291 section 2.5.2"),
    ("::1/128", "loopback", "RFC 4291 section 2.5.3"),
    ("::/96", "IPv4-compatible, withdrawn", "RFC 4291 section 2.5.5.1"),
    ("::ffff:0:0:0/96", "IPv4-translated", "RFC 2765 section 2.1"),
    ("64:ff9b:1::/48", "local translation from IPv6 to IPv4", "RFC 8215"),
    ("100::/64", "discard only", "RFC 6666"),
    ("100:0:0:1::/64", "dummy prefix", "RFC 9780"),
    ("2001::/32", "Teredo", "RFC 4380"),
    ("2001:2::/48", "benchmarking", "RFC 5180"),
    ("2001:10::/28", "ORCHID, withdrawn", "RFC 4843"),
    ("2001:20::/28", "ORCHIDv2", "RFC 7343"),
    ("2001:30::/28", "drone remote identification", "RFC 9374"),
    ("2001::/23", "IETF protocol assignments", "RFC 2928"),
    ("2001:db8::/32", "documentation", "RFC 3849"),
    ("2002::/16", "6to4", "RFC 3056, RFC 7526"),
    ("3fff::/20", "documentation", "RFC 9637"),
    ("5f00::/16", "segment routing identifiers", "RFC 9602"),
    ("fc00::/7", "unique local", "RFC 4193"),
    ("fe80::/10", "link-local", "RFC 4291 section 2.5.6"),
    ("fec0::/10", "site-local, withdrawn", "RFC 3879"),
    ("ff00::/8", "multicast", "RFC 4291 section 2.7"),
    ("::/3", "outside of global unicast (2000::/3)", "RFC 4291 section 2.4"),
    ("4000::/2", "outside of global unicast (2000::/3)", "RFC 4291 section 2.4"),
    ("8000::/1", "outside of global unicast (2000::/3)", "RFC 4291 section 2.4"),
)

# Where clouds tell a machine its secrets. No setting allows one, in whatever form it comes.
METADATA = _rows(
    ("169.254.0.0/16", "link-local, where most clouds have it", "RFC 3927"),
    ("100.100.100.200/32", "metadata", "Alibaba Cloud"),
    ("168.63.129.16/32", "metadata", "Azure WireServer"),
    ("192.0.0.192/32", "metadata", "Oracle Cloud, classic"),
    ("fe80::/10", "link-local, where clouds have it too", "RFC 4291 section 2.5.6"),
    ("fd00:ec2::/32", "metadata", "Amazon EC2"),
    ("fd20:ce::254/128", "metadata", "Google Cloud"),
    ("fd00:42::42/128", "metadata", "Scaleway"),
    ("fd00:c1::a9fe:a9fe/128", "metadata", "Oracle Cloud"),
)

Read = Callable[[int], Iterator[int]]


def _low(bits: int) -> Iterator[int]:
    yield bits & 0xFFFFFFFF


def _sixtofour(bits: int) -> Iterator[int]:
    yield (bits >> 80) & 0xFFFFFFFF


def _teredo(bits: int) -> Iterator[int]:
    yield (bits >> 64) & 0xFFFFFFFF  # the server
    yield (bits & 0xFFFFFFFF) ^ 0xFFFFFFFF  # the client, inverted


def _local(bits: int) -> Iterator[int]:
    """Behind a prefix of 96, 48, 56 or 64 bits, with eight zero bits in the middle (RFC 6052 section 2.2)."""
    yield bits & 0xFFFFFFFF
    yield ((bits >> 64) & 0xFFFF) << 16 | (bits >> 40) & 0xFFFF
    yield ((bits >> 64) & 0xFF) << 24 | (bits >> 32) & 0xFFFFFF
    yield (bits >> 24) & 0xFFFFFFFF


MAPPED = IPv6Network("::ffff:0:0/96")  # RFC 4291 section 2.5.5.2
NAT64 = IPv6Network("64:ff9b::/96")  # RFC 6052 section 2.1
_CARRIERS: tuple[tuple[IPv6Network, Read], ...] = (
    (MAPPED, _low),
    (NAT64, _low),
    (IPv6Network("64:ff9b:1::/48"), _local),
    (IPv6Network("::/96"), _low),
    (IPv6Network("::ffff:0:0:0/96"), _low),
    (IPv6Network("2002::/16"), _sixtofour),
    (IPv6Network("2001::/32"), _teredo),
)
# RFC 5214 section 6.1: the interface identifier says so under any prefix
_ISATAP = frozenset({0x00005EFE, 0x02005EFE})


def carried(address: Address) -> tuple[IPv4Address, ...]:
    """The IPv4 addresses inside an IPv6 address, by every form that is known; () for none."""
    if isinstance(address, IPv4Address):
        return ()
    bits = int(address)
    found = [inner for network, read in _CARRIERS if address in network for inner in read(bits)]
    if (bits >> 32) & 0xFFFFFFFF in _ISATAP:
        found.append(bits & 0xFFFFFFFF)
    return tuple(IPv4Address(inner) for inner in found)


def unwrapped(address: Address) -> Address:
    """The IPv4 address of an IPv4-mapped one, which is what would be dialled; any other as it is."""
    inner = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return address if inner is None else inner


def parse_address(text: str) -> Address | None:
    """An address in any spelling that ipaddress takes; None for another text or one with a zone."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return None if isinstance(address, IPv6Address) and address.scope_id else address


def special(address: Address) -> Special | None:
    """The range that makes an address no public unicast one; None where it is public.

    IPv4 inside of IPv4-mapped, NAT64 and ISATAP addresses is judged instead of (ISATAP: besides)
    the outside; 6to4, Teredo and the withdrawn forms are not public whatever is inside.
    """
    if isinstance(address, IPv6Address) and not (address in MAPPED or address in NAT64):
        found = _first(SPECIAL_V6, address)
        if found is not None:
            return found
    inside = carried(address)
    if isinstance(address, IPv4Address):
        inside = (address,)
    return next((found for inner in inside if (found := _first(SPECIAL_V4, inner))), None)


def metadata(address: Address) -> Special | None:
    """The metadata range that an address, or an IPv4 address inside it, lies in."""
    every = (address, *carried(address))
    return next((found for one in every if (found := _first(METADATA, one))), None)


def _first(table: tuple[Special, ...], address: Address) -> Special | None:
    return next((row for row in table if address in row.network), None)
