"""The table of addresses: its edges, what is inside of what, and nothing forgotten."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, collapse_addresses, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restante.egress.ranges import (
    METADATA,
    SPECIAL_V4,
    SPECIAL_V6,
    Special,
    carried,
    metadata,
    special,
)

ROWS = SPECIAL_V4 + SPECIAL_V6


def ipv6(text: str) -> IPv6Address:
    return IPv6Address(text)


def forms(inner: str) -> dict[str, IPv6Address]:
    """An IPv4 address in every form that carries one."""
    bits = int(IPv4Address(inner))
    high, low, local = bits >> 16, bits & 0xFFFF, int(ipv6("64:ff9b:1::"))
    return {
        "mapped": ipv6(f"::ffff:{inner}"),
        "compatible": ipv6(f"::{inner}"),
        "translated": ipv6(f"::ffff:0:{inner}"),
        "nat64": ipv6(f"64:ff9b::{inner}"),
        "local nat64": ipv6(f"64:ff9b:1::{inner}"),
        "local nat64 behind 48 bits": ipv6(
            f"64:ff9b:1:{high:x}:{low >> 8:x}:{(low & 0xFF) << 8:x}::"
        ),
        "local nat64 behind 56 bits": IPv6Address(
            local | (bits >> 24) << 64 | (bits & 0xFFFFFF) << 32
        ),
        "local nat64 behind 64 bits": IPv6Address(local | bits << 24),
        "6to4": ipv6(f"2002:{high:x}:{low:x}::1"),
        "teredo client": ipv6(f"2001:0:5db8:d70e:0:0:{high ^ 0xFFFF:x}:{low ^ 0xFFFF:x}"),
        "teredo server": ipv6(f"2001:0:{high:x}:{low:x}::1"),
        "isatap": ipv6(f"2606:4700::5efe:{inner}"),
        "isatap, global": ipv6(f"2606:4700::200:5efe:{inner}"),
    }


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row.network))
def test_a_range_is_refused_to_its_edges(row: Special) -> None:
    assert row.source
    for address in (row.network.network_address, row.network.broadcast_address):
        assert special(address) is not None


@pytest.mark.parametrize("table", [SPECIAL_V4, SPECIAL_V6], ids=["IPv4", "IPv6"])
def test_what_lies_beside_the_ranges_is_public(table: tuple[Special, ...]) -> None:
    limit = 2 ** table[0].network.max_prefixlen
    kind = type(table[0].network.network_address)
    for network in collapse_addresses(row.network for row in table):
        for bits in (int(network.network_address) - 1, int(network.broadcast_address) + 1):
            beside = kind(bits % limit)
            if not any(beside in row.network for row in table) and not carried(beside):
                assert special(beside) is None, beside


@pytest.mark.parametrize("form", forms("10.0.0.1"))
@pytest.mark.parametrize("inner", ["10.0.0.1", "127.0.0.1", "169.254.169.254", "100.64.0.1"])
def test_a_private_address_is_refused_in_every_form(form: str, inner: str) -> None:
    address = forms(inner)[form]
    assert IPv4Address(inner) in carried(address)
    assert special(address) is not None


@pytest.mark.parametrize(
    ("form", "public"),
    [
        *[(form, True) for form in ("mapped", "nat64", "isatap", "isatap, global")],
        *[(form, False) for form in ("compatible", "translated", "local nat64", "6to4")],
        *[(form, False) for form in ("teredo client", "teredo server")],
    ],
)
def test_a_public_address_inside_is_enough_only_where_the_form_is_in_use(
    form: str, *, public: bool
) -> None:
    assert (special(forms("8.8.8.8")[form]) is None) is public


@pytest.mark.parametrize("form", forms("10.0.0.1"))
@pytest.mark.parametrize(
    "inner", ["169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16"]
)
def test_metadata_is_known_in_every_form(form: str, inner: str) -> None:
    assert metadata(IPv4Address(inner)) is not None
    assert metadata(forms(inner)[form]) is not None


@pytest.mark.parametrize("row", METADATA, ids=lambda row: str(row.network))
def test_metadata_is_never_public(row: Special) -> None:
    assert special(row.network.network_address) is not None


@pytest.mark.parametrize(
    "text",
    [
        *("8.8.8.8", "1.1.1.1", "93.184.215.14", "99.255.255.255", "223.255.255.255"),
        *("2606:4700:4700::1111", "2a00:1450::1", "2001:200::1", "2400::1", "2003::1", "2800::1"),
    ],
)
def test_public_addresses_are_public(text: str) -> None:
    address = ip_address(text)
    assert special(address) is None
    assert metadata(address) is None


@given(
    st.one_of(
        st.integers(0, 2**32 - 1).map(IPv4Address),
        st.integers(0, 2**128 - 1).map(IPv6Address),
        st.builds(
            lambda row, low: row.network[low % row.network.num_addresses],
            st.sampled_from(ROWS),
            st.integers(0, 2**128 - 1),
        ),
    )
)
def test_nothing_is_public_that_the_standard_library_calls_special(
    address: IPv4Address | IPv6Address,
) -> None:
    if special(address) is None and not carried(address):
        assert address.is_global
        assert not address.is_multicast
        assert not address.is_reserved
