"""Each rule of the egress alone: what it refuses, and that something fails where it is left out."""

from __future__ import annotations

from functools import partial
from ipaddress import ip_address, ip_network
from typing import Any

import pytest

from restante.egress import ranges
from restante.egress.allowance import Own, parse_allowance
from restante.egress.names import parse_host
from restante.egress.policy import Policy, Purpose
from restante.egress.refusal import CallFailed, EgressRefused
from restante.egress.url import parse_url
from tests.unit.egress.canned import PUBLIC, Names, canned
from tests.unit.egress.mutants import TABLES, mutants, without_range

HOOK = "https://hooks.example.com"
PLAIN = Policy()
ALLOWING = Policy(
    allowance=parse_allowance("n8n.lan:5678,box:9443,10.0.0.7:9443,localhost:9000,10.9.0.0/16"),
    own=Own(
        origin=("own.example.com", 443),
        hosts=frozenset({"own.example.com"}),
        networks=(ip_network("203.0.112.0/24"),),
    ),
)
HERE = Policy(
    allowance=parse_allowance(
        "hooks.example.com:9000,localhost:9000,a.localhost:9000,localhost:9001"
    ),
    own=Own(origin=("localhost", 9000), loopback_port=9000),
)
ISSUER = Policy(
    issuer=parse_url("https://idp.example.com/"),
    own=Own(networks=(ip_network("10.1.0.0/16"),), loopback_port=8443),
)
PLAIN_ISSUER = Policy(issuer=parse_url("http://localhost:9000/"))
SECURE_ISSUER = Policy(issuer=parse_url("https://localhost:9000/"))
FAR_ISSUER = Policy(issuer=parse_url("http://idp.example.com/"))

# a URL, what its name leads to, and the reason with the beginning of what the audit is told; "": taken
CALLBACKS: list[tuple[Policy, str, str, str]] = [
    (PLAIN, HOOK, PUBLIC, ""),
    (PLAIN, f"{HOOK}:8443", PUBLIC, ""),
    (PLAIN, f"{HOOK}/{'p' * 2048}", PUBLIC, "length: 2074 characters"),
    (PLAIN, f"{HOOK}/a b", PUBLIC, "characters: ' ' at"),
    (PLAIN, f"{HOOK}/#a", PUBLIC, "fragment: a fragment"),
    (PLAIN, "hooks.example.com", PUBLIC, "scheme: it does not begin"),
    (PLAIN, "gopher://hooks.example.com", PUBLIC, "scheme: it does not begin"),
    (PLAIN, "http://hooks.example.com", PUBLIC, "scheme: only https"),
    (PLAIN, "https://me@hooks.example.com", PUBLIC, "userinfo: a user"),
    (PLAIN, "https://hooks%2eexample.com", PUBLIC, "host: the host is written with a percent"),
    (PLAIN, f"{HOOK}:443:443", PUBLIC, "host: 'hooks.example.com:443:443' is no host and port"),
    (PLAIN, "https:///in", PUBLIC, "host: the host has 0"),
    (PLAIN, f"https://{'a.' * 126}example", PUBLIC, "host: the host has 259"),
    (PLAIN, "https://a_b.example.com", PUBLIC, "host: 'a_b' is no label"),
    (PLAIN, "https://xn--a.example.com", PUBLIC, "host: 'xn--a' stands for no name"),
    (PLAIN, "https://127.1", PUBLIC, "address_form: '127.1' is no dotted quad"),
    (PLAIN, "https://[2606::0:1]", PUBLIC, "address_form: '[2606::0:1]' is no IPv6"),
    (PLAIN, "https://[::ffff:808:808]", PUBLIC, "address_form: '[::ffff:808:808]' is no IPv6"),
    (PLAIN, f"{HOOK}:0443", PUBLIC, "port: '0443' is no port"),
    (PLAIN, f"{HOOK}:65536", PUBLIC, "port: '65536' is no port"),
    (PLAIN, f"{HOOK}:22", PUBLIC, "port: port 22"),
    (PLAIN, f"https://{PUBLIC}", PUBLIC, "literal: the host is an address"),
    (PLAIN, "https://hooks", PUBLIC, "single_label: hooks has no dot"),
    (PLAIN, "https://hooks.local", PUBLIC, "private_name: hooks.local"),
    (PLAIN, HOOK, "", "lookup: hooks.example.com has no address"),
    (PLAIN, HOOK, "nonsense", "not_public: the resolver's answer 'nonsense'"),
    (PLAIN, HOOK, "fe80::1%eth0", "not_public: the resolver's answer 'fe80::1%eth0'"),
    (PLAIN, HOOK, f"{PUBLIC} 10.0.0.1", "not_public: 10.0.0.1 lies in 10.0.0.0/8"),
    (PLAIN, HOOK, "169.254.169.254", "metadata: 169.254.169.254"),
    (ALLOWING, "https://n8n.lan:5678", "10.0.0.1", ""),
    (ALLOWING, "https://n8n.lan", "10.0.0.1", "private_name: n8n.lan"),
    (ALLOWING, "https://box:9443", "10.0.0.1", ""),
    (ALLOWING, "https://10.0.0.7:9443", "", ""),
    (ALLOWING, HOOK, "10.9.0.1", ""),
    (ALLOWING, HOOK, "10.8.0.1", "not_public: 10.8.0.1"),
    (ALLOWING, "https://n8n.lan:5678", "169.254.169.254", "metadata: 169.254.169.254"),
    (ALLOWING, "https://own.example.com", PUBLIC, "own: own.example.com is this"),
    (ALLOWING, HOOK, "203.0.112.1", "own: 203.0.112.1 is this"),
    (HERE, f"{HOOK}:9000", "127.0.0.1", "own: 127.0.0.1 is this"),
    (HERE, f"{HOOK}:9000", "0.0.0.0", "own: 0.0.0.0 is this"),
    (HERE, "https://localhost:9000", "127.0.0.1", "own: localhost is this"),
    (HERE, "https://a.localhost:9000", "127.0.0.1", "own: a.localhost is this"),
    (HERE, "https://localhost:9001", "127.0.0.1", ""),
    (ISSUER, "https://idp.example.com", "10.0.0.1", "not_public: 10.0.0.1"),
    (PLAIN_ISSUER, "http://localhost:9000", "127.0.0.1", "scheme: only https"),
]
OIDC: list[tuple[Policy, str, str, str]] = [
    (PLAIN, "https://idp.example.com", PUBLIC, ""),
    (ISSUER, "https://idp.example.com", "10.0.0.1", ""),
    (ISSUER, "https://idp.example.com:9443", "10.0.0.1", ""),
    (ISSUER, "https://other.example.com", "10.0.0.1", "not_public: 10.0.0.1"),
    (ISSUER, "https://idp.example.com", "10.1.0.1", ""),
    (ISSUER, "https://idp.example.com:8443", "127.0.0.1", "own: 127.0.0.1 is this"),
    (PLAIN_ISSUER, "http://localhost:9000", "127.0.0.1", ""),
    (PLAIN_ISSUER, "http://127.0.0.1:9000", "127.0.0.1", "scheme: only https"),
    (SECURE_ISSUER, "http://localhost:9000", "127.0.0.1", "scheme: only https"),
    (FAR_ISSUER, "http://idp.example.com", PUBLIC, "scheme: only https"),
]
ROWS = [(Purpose.CALLBACK, *row) for row in CALLBACKS] + [(Purpose.OIDC, *row) for row in OIDC]
# of each range of the table an address that no other row of it says the same of
IN_RANGES = """
0.0.0.0/8 0.1.2.3
10.0.0.0/8 10.1.2.3
100.64.0.0/10 100.64.1.1
127.0.0.0/8 127.1.2.3
172.16.0.0/12 172.31.255.254
192.0.0.0/24 192.0.0.8
192.0.2.0/24 192.0.2.1
192.88.99.0/24 192.88.99.1
192.168.0.0/16 192.168.1.1
198.18.0.0/15 198.19.255.254
198.51.100.0/24 198.51.100.1
203.0.113.0/24 203.0.113.1
224.0.0.0/4 239.1.2.3
240.0.0.0/4 255.255.255.255
::/128 ::
::1/128 ::1
::/96 ::8.8.8.8
::ffff:0:0:0/96 ::ffff:0:8.8.8.8
64:ff9b:1::/48 64:ff9b:1::8.8.8.8
100::/64 100::1
100:0:0:1::/64 100:0:0:1::1
2001::/32 2001:0:808:808::f7f7:f7f7
2001:2::/48 2001:2::1
2001:10::/28 2001:10::1
2001:20::/28 2001:20::1
2001:30::/28 2001:30::1
2001::/23 2001:1::1
2001:db8::/32 2001:db8::1
2002::/16 2002:808:808::1
3fff::/20 3fff::1
5f00::/16 5f00::1
fc00::/7 fd12::1
fec0::/10 fec0::1
ff00::/8 ff02::1
::/3 1000::1
4000::/2 4000::1
8000::/1 8000::1
"""
IN_METADATA = """
169.254.0.0/16 169.254.169.254
100.100.100.200/32 100.100.100.200
168.63.129.16/32 168.63.129.16
192.0.0.192/32 192.0.0.192
fe80::/10 fe80::1
fd00:ec2::/32 fd00:ec2::254
fd20:ce::254/128 fd20:ce::254
fd00:42::42/128 fd00:42::42
fd00:c1::a9fe:a9fe/128 fd00:c1::a9fe:a9fe
"""
EQUIVALENT = {"url.parse_url: without parts is None"}  # without parts there is no scheme either
BEHIND_METADATA = {"168.63.129.16/32", "169.254.0.0/16", "fe80::/10"}
"""Refused as special addresses too, should a table be read alone."""


def verdict(purpose: Purpose, policy: Policy, url: str, answers: str) -> str:
    egress = canned(policy, names=Names([answers.split()]))
    try:
        egress.judge(url, purpose=purpose)
    except EgressRefused as error:
        return f"{error.reason}: {error.note}"
    except CallFailed as error:
        return f"{error.cause}: {error.note}"
    return ""


def led_to(address: str) -> str:
    return verdict(Purpose.CALLBACK, PLAIN, HOOK, address)


def host(text: str) -> str:
    try:
        return str(parse_host(text))
    except EgressRefused as error:
        return f"{error.reason}: {error.note}"


def listed(text: str) -> dict[str, str]:
    return dict(line.split() for line in text.strip().splitlines())


def everything() -> list[Any]:
    """All verdicts; what crashes is none."""
    asked = [partial(verdict, *row[:-1]) for row in ROWS]
    asked += [partial(host, text) for text in ("[fe80::1%eth0]", "[nonsense]")]
    told: list[Any] = []
    for one in asked:
        try:
            told.append(one())
        except Exception as error:  # noqa: BLE001 - a mutant may break anything
            told.append(type(error))
    return told


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]} {row[2][:40]} {row[4][:20]}")
def test_a_verdict(row: tuple[Purpose, Policy, str, str, str]) -> None:
    *asked, expected = row
    told = verdict(*asked)
    assert told.startswith(expected)
    assert bool(told) is bool(expected)


def test_every_rule_that_is_left_out_changes_a_verdict() -> None:
    before = everything()
    survived = []
    for mutant in mutants():
        with mutant.alive():
            if everything() == before:
                survived.append(mutant.name)
    assert set(survived) == EQUIVALENT
    assert everything() == before


def test_every_range_is_named_and_missed() -> None:
    there = {table: [str(row.network) for row in getattr(ranges, table)] for table in TABLES}
    special, metadata = listed(IN_RANGES), listed(IN_METADATA)
    assert set(there["SPECIAL_V4"] + there["SPECIAL_V6"]) == special.keys() | BEHIND_METADATA
    assert there["METADATA"] == list(metadata)
    for table, known in (("SPECIAL_V4", special), ("SPECIAL_V6", special), ("METADATA", metadata)):
        reason = "metadata" if known is metadata else "not_public"
        for place, network in enumerate(there[table]):
            if network not in known:
                continue
            address = known[network]
            named = f"{reason}: {ip_address(address)} lies in {network}:"
            assert led_to(address).startswith(named)
            with without_range(table, place):
                assert not led_to(address).startswith(named)
