"""Which texts are a host: a DNS name in its one spelling, or a canonical address."""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv4Address, IPv6Address

import idna

from restante.egress.ranges import MAPPED, Address
from restante.egress.refusal import EgressRefused, Reason

NAME_LENGTH = 253  # RFC 1035 section 2.3.4, without the dots that frame it
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
# the URL standard's "ends in a number": what some resolvers read as an IPv4 address
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")

# Names that never lead to a public host, whatever a resolver says.
PRIVATE_SUFFIXES = frozenset(
    {
        *("alt", "arpa", "invalid", "local", "localhost", "onion", "test"),  # RFC 6761 and after
        *("internal",),  # reserved by ICANN for private use, 2024
        *("corp", "home", "intranet", "lan", "mail", "private"),  # RFC 6762 appendix G
        # as machines call each other
        *(
            "cluster",
            "consul",
            "default",
            "docker",
            "localdomain",
            "localdomain4",
            "localdomain6",
            "localhost4",
            "localhost6",
            "svc",
        ),
    }
)


def parse_host(text: str) -> tuple[str, Address | None]:
    """A host in lower case without brackets, and its address where it is one; raises EgressRefused.

    A name may have one label and a private suffix; whether that will do is the policy's question.
    """
    if text.startswith("["):
        return _literal_v6(text)
    host = text.lower()
    labels = host.split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return _literal_v4(host)
    if not host or len(host) > NAME_LENGTH:
        note = f"the host has {len(host)} characters, and 1 to {NAME_LENGTH} are right"
        raise EgressRefused(Reason.HOST, note)
    for label in labels:
        if not _LABEL.fullmatch(label):
            raise EgressRefused(Reason.HOST, _why_no_label(label))
        if label.startswith("xn--"):
            _check_a_label(label)
    return host, None


def is_single_label(host: str) -> bool:
    """Whether a name has no dot, so that a resolver completes it from its own search list."""
    return "." not in host


def is_private_name(host: str) -> bool:
    """Whether a name is for use on one machine or in one network."""
    return host.rpartition(".")[2] in PRIVATE_SUFFIXES


def is_loopback_name(host: str) -> bool:
    """Whether a name is this machine's by itself (RFC 6761 section 6.3)."""
    return host == "localhost" or host.endswith(".localhost")


def _why_no_label(label: str) -> str:
    if not label:
        return "the host begins or ends with a dot, or has two in a row"
    return (
        f"{label!r} is no label of a host name: at most 63 letters, digits and hyphens between them"
    )


def _literal_v4(text: str) -> tuple[str, Address]:
    try:
        address = IPv4Address(text)
    except AddressValueError:
        raise EgressRefused(
            Reason.ADDRESS_FORM, f"{text!r} is no dotted quad as it is written"
        ) from None
    return text, address


def _literal_v6(text: str) -> tuple[str, Address]:
    inner = text[1:-1].lower()
    try:
        address = IPv6Address(inner) if text.endswith("]") else None
    except AddressValueError:
        address = None
    if address is None or address.scope_id:
        raise EgressRefused(Reason.ADDRESS_FORM, f"{text!r} is no IPv6 address")
    if address in MAPPED:
        raise EgressRefused(Reason.ADDRESS_FORM, f"{text!r} is no IPv6 address but an IPv4 one")
    if str(address) != inner:
        note = f"{text!r} is no IPv6 address in its canonical form, [{address}] (RFC 5952)"
        raise EgressRefused(Reason.ADDRESS_FORM, note)
    return inner, address


def _check_a_label(label: str) -> None:
    try:
        same = idna.alabel(idna.ulabel(label)).decode() == label
    except (idna.IDNAError, UnicodeError):
        same = False
    if not same:
        raise EgressRefused(Reason.HOST, f"{label!r} stands for no name (RFC 5891)")
