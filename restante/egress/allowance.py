"""What the operator's settings say about where calls may go, read once at start.

Every reader here raises ValueError with the end of a sentence that begins with the setting's name.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv6Network, ip_network

from restante.egress.names import parse_host
from restante.egress.ranges import MAPPED, Address, Network, unwrapped
from restante.egress.refusal import EgressRefused
from restante.egress.url import Target, is_here, parse_port, parse_url

LOOPBACK = tuple(map(ip_network, ("127.0.0.0/8", "0.0.0.0/32", "::1/128", "::/128")))


@dataclass(frozen=True, slots=True)
class Allowance:
    """RESTANTE_EGRESS_ALLOW. `hosts`: exactly these hosts at exactly these ports."""

    hosts: frozenset[tuple[str, int]] = frozenset()
    networks: tuple[Network, ...] = ()

    def network_of(self, address: Address) -> Network | None:
        """The allowed network that an address lies in."""
        return _within(self.networks, address)


@dataclass(frozen=True, slots=True)
class Own:
    """What this installation answers at itself.

    The loopback host of our own URL is the whole machine's and not ours alone, so of it the port is ours.
    What the operator names besides is ours at every port, on loopback too.
    """

    origin: tuple[str, int] = ("", 0)
    hosts: frozenset[str] = frozenset()
    networks: tuple[Network, ...] = ()
    loopback_port: int | None = None

    def answers_here(self, address: Address, port: int) -> bool:
        """Whether an address and port are those of our own URL on loopback."""
        return is_here(address) and port == self.loopback_port

    def names(self, address: Address) -> bool:
        """Whether an address lies in what is named as ours."""
        return _within(self.networks, address) is not None


def parse_allowance(text: str) -> Allowance:
    """Read `host:port` and CIDR entries, comma-separated."""
    hosts: set[tuple[str, int]] = set()
    networks: list[Network] = []
    for entry in _entries(text):
        network = _network(entry)
        if network is not None:
            networks.append(network)
            continue
        name, colon, port = entry.rpartition(":")
        try:
            if not colon:
                raise EntryWrong
            hosts.add((parse_host(name)[0], parse_port(port)))
        except (EgressRefused, EntryWrong) as error:
            why = f" ({error.note})" if isinstance(error, EgressRefused) else ""
            raise ValueError(
                f"has the entry {entry!r}, which is neither host:port nor a CIDR network{why}"
            ) from None
    return Allowance(hosts=frozenset(hosts), networks=tuple(networks))


def parse_own(public_url: str, others: str) -> Own:
    """Our own origin and the comma-separated `others`: host names, addresses and CIDR networks."""
    target = _own_origin(public_url)
    here = target is not None and target.is_loopback
    hosts: set[str] = set()
    networks: list[Network] = []
    if target is not None and not here:
        hosts.add(target.host)
        if target.literal is not None:
            networks.append(ip_network(target.literal))
    for entry in _entries(others):
        network = _network(entry)
        if network is None:
            hosts.add(_own_name(entry))
        else:
            networks.append(network)
        if entry.lower() == "localhost" or (network and is_here(network.network_address)):
            networks.extend(LOOPBACK)  # the machine has one, under whatever address
    return Own(
        origin=("", 0) if target is None else (target.host, target.port),
        hosts=frozenset(hosts),
        networks=tuple(networks),
        loopback_port=target.port if target is not None and here else None,
    )


def parse_ports(text: str) -> frozenset[int]:
    """Comma-separated ports; one at least."""
    try:
        ports = frozenset(parse_port(entry) for entry in _entries(text))
    except EgressRefused as error:
        raise ValueError(f"has an entry that is no port: {error.note}") from None
    if not ports:
        raise ValueError("names no port; write 443,8443")
    return ports


def parse_issuer(text: str) -> Target | None:
    """The OIDC issuer, taken apart as any URL that is called; None where there is none."""
    try:
        return parse_url(text) if text else None
    except EgressRefused as error:
        raise ValueError(f"cannot be called: {error.note}") from None


def _own_name(entry: str) -> str:
    try:
        return parse_host(entry)[0]
    except EgressRefused as error:
        raise ValueError(
            f"has the entry {entry!r}, which is no host, address or CIDR network ({error.note})"
        ) from None


def _own_origin(public_url: str) -> Target | None:
    """None where no URL that is called could be written so."""
    try:
        return parse_url(public_url)
    except EgressRefused:
        return None


class EntryWrong(Exception):
    """An entry has not even the form of one."""


def _entries(text: str) -> Iterator[str]:
    return filter(None, (part.strip() for part in text.split(",")))


def _network(entry: str) -> Network | None:
    try:
        network = ip_network(entry)
    except ValueError:
        return None
    if isinstance(network, IPv6Network) and network.subnet_of(MAPPED):
        raise ValueError(f"has the entry {entry!r}: write the IPv4 network that is mapped into it")
    return network


def _within(networks: tuple[Network, ...], address: Address) -> Network | None:
    inner = unwrapped(address)
    return next((network for network in networks if inner in network), None)
