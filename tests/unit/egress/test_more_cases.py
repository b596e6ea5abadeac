"""What else is tried on a callback's URL, a row each: refused by its text, or by what its name led to."""

from __future__ import annotations

import pytest

from restante.egress.allowance import parse_allowance, parse_own
from restante.egress.policy import Policy
from restante.egress.refusal import CallFailed, EgressRefused
from tests.unit.egress.canned import PUBLIC, Dialled, Names, canned

OURS = "https://inbox.example.org"
LONG = ".".join(["a" * 63] * 3)  # 191 characters


def verdict(url: str, answers: list[str] | None = None, *, allow: str = "") -> str:
    """`allowed`, or the reason; nobody is dialled for a refusal."""
    policy = Policy(allowance=parse_allowance(allow), own=parse_own(OURS, ""))
    dial = Dialled()
    egress = canned(policy, names=Names([[PUBLIC] if answers is None else answers]), dial=dial)
    try:
        egress.send("POST", url, fields={}, body=b"{}")
    except EgressRefused as refused:
        assert not dial.addresses
        return refused.reason
    except CallFailed as failed:
        assert not dial.addresses
        return failed.cause
    return "allowed"


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        # brackets that hold no canonical IPv6 address
        ("https://[v1.fe80]/", "address_form"),
        ("https://[vF.127.0.0.1]/", "address_form"),
        ("https://[127.0.0.1]/", "address_form"),
        ("https://[hooks.example.com]/", "address_form"),
        ("https://[]/", "address_form"),
        ("https://[::1", "host"),
        ("https://[[::1]]/", "host"),
        ("https://::1/", "host"),
        ("https://[::1]hooks.example.com/", "host"),
        ("https://[2606:4700:0::1111]/", "address_form"),
        ("https://[2606:4700::01111]/", "address_form"),
        ("https://[2606:4700:0:0:0:0:0:1111]/", "address_form"),
        ("https://[2606:4700::1111%1]/", "characters"),
        ("https://[2606:4700::1111%251]/", "host"),
        # an IPv4 address inside one
        ("https://[::ffff:7f00:1]/", "address_form"),
        ("https://[::127.0.0.1]/", "address_form"),
        ("https://[::7f00:1]/", "not_public"),
        ("https://[::ffff:0:7f00:1]/", "not_public"),
        ("https://[64:ff9b::7f00:1]/", "not_public"),
        ("https://[64:ff9b:1::7f00:1]/", "not_public"),
        ("https://[2002:7f00:1::]/", "not_public"),
        ("https://[2002:808:808::]/", "not_public"),
        ("https://[2001:0:808:808::]/", "not_public"),
        ("https://[2606:4700::5efe:7f00:1]/", "not_public"),
        ("https://[2606:4700::200:5efe:a00:1]/", "not_public"),
        ("https://[64:ff9b::a9fe:a9fe]/", "metadata"),
        ("https://[2002:a9fe:a9fe::]/", "metadata"),
        # IPv4 in other notations
        ("https://0177.0.0.1/", "address_form"),
        ("https://0x7f.0.0.1/", "address_form"),
        ("https://0X7F000001/", "address_form"),
        ("https://2130706433/", "address_form"),
        ("https://017700000001/", "address_form"),
        ("https://127.1/", "address_form"),
        ("https://0/", "address_form"),
        ("https://0x/", "address_form"),
        ("https://1.2.3.256/", "address_form"),
        ("https://1.2.3.4.5/", "address_form"),
        ("https://hooks.example.0x1/", "address_form"),
        # what unfolds to dots and digits, and percent signs
        ("https://127\u30020\u30020\u30021/", "characters"),
        ("https://127\uff0e0.0.1/", "characters"),
        ("https://hooks\uff61example.com/", "characters"),
        ("https://\uff11\uff12\uff17.0.0.1/", "characters"),
        ("https://\u2460.0.0.1/", "characters"),
        ("https://ex\u00adample.com/", "characters"),
        ("https://exam\u200dple.com/", "characters"),
        ("http\u017f://hooks.example.com/", "characters"),
        ("https://127%2e0%2e0%2e1/", "host"),
        ("https://%31%32%37.0.0.1/", "host"),
        ("https://hooks.example.com%00/", "host"),
        ("https://hooks.example.com%/", "characters"),
        # labels
        ("https://hooks.example.com./", "host"),
        ("https://hooks.example.com../", "host"),
        ("https://8.8.8.8./", "host"),
        ("https://.hooks.example.com/", "host"),
        ("https://hooks..example.com/", "host"),
        ("https://ho_oks.example.com/", "host"),
        ("https://*.example.com/", "host"),
        (f"https://{'a' * 64}.example.com/", "host"),
        (f"https://{LONG}.{'a' * 58}.com/", "host"),
        ("https://xn--a.example.com/", "host"),
        ("https://xn--127001-.example.com/", "host"),
        # ports
        ("https://hooks.example.com:0/", "port"),
        ("https://hooks.example.com:65536/", "port"),
        ("https://hooks.example.com:0443/", "port"),
        ("https://hooks.example.com:/", "port"),
        ("https://hooks.example.com:+443/", "port"),
        ("https://hooks.example.com:443x/", "port"),
        ("https://hooks.example.com:\uff14\uff14\uff13/", "characters"),
        ("https://hooks.example.com:443:443/", "host"),
        ("https://hooks.example.com:444/", "port"),
        # white space, backslashes, users, slashes, schemes
        ("https://hooks.exa\tmple.com/", "characters"),
        ("https://hooks.example.com/\r\nX: y", "characters"),
        ("\nhttps://hooks.example.com/", "characters"),
        ("https:\\\\hooks.example.com/", "characters"),
        ("https://hooks.example.com\\@127.0.0.1/", "characters"),
        ("https://hooks.example.com@127.0.0.1/", "userinfo"),
        ("https://:@hooks.example.com/", "userinfo"),
        ("https://hooks.example.com:443@127.0.0.1/", "userinfo"),
        ("https://[::1]@hooks.example.com/", "userinfo"),
        ("https:///", "host"),
        ("https:///hooks.example.com/", "host"),
        ("https:/hooks.example.com/", "scheme"),
        ("https:hooks.example.com/", "scheme"),
        ("//hooks.example.com/", "scheme"),
        ("https+unix://hooks.example.com/", "scheme"),
        ("wss://hooks.example.com/", "scheme"),
        ("https://hooks.example.com/#", "fragment"),
        # names of machines among themselves, and ourselves
        ("https://metadata/", "single_label"),
        ("https://metadata.google.internal/", "private_name"),
        ("https://instance-data.ec2.internal/", "private_name"),
        ("https://kubernetes.default/", "private_name"),
        ("https://vault.service.consul/", "private_name"),
        ("https://x.localhost6/", "private_name"),
        ("https://localhost4.localdomain4/", "private_name"),
        ("https://1.0.0.127.in-addr.arpa/", "private_name"),
        ("https://INBOX.example.org:8443/", "own"),
        ("https://inbox.example.org./", "host"),
    ],
)
def test_refused_by_its_text(url: str, reason: str) -> None:
    assert verdict(url) == reason


@pytest.mark.parametrize(
    "url",
    [
        "HTTPS://HOOKS.example.com/",
        f"https://{LONG}.{'a' * 57}.com/",
        "https://127.0.0.1.hooks.example.com/",
        "https://0x7f.example.com/",
        "https://a--b.example.com:8443/",
        "https://XN--FIQS8S.example.com/",
        "https://hooks.example.com/%00?next=//127.0.0.1\u0021@x",
        "https://inbox.example.org.example.com/",
    ],
)
def test_allowed(url: str) -> None:
    assert verdict(url) == "allowed"


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ([], "lookup"),
        (["::ffff:8.8.8.8"], "allowed"),
        (["64:ff9b::808:808"], "allowed"),
        (["2606:4700::5efe:8.8.8.8"], "allowed"),
        (["1.1.1.1"] * 2000 + ["10.0.0.1"], "not_public"),
        ([f"1.1.{n // 256}.{n % 256}" for n in range(2000)], "allowed"),
        (["10.0.0.1"] + [PUBLIC] * 9, "not_public"),
        ([PUBLIC, "64:ff9b::10.0.0.1"], "not_public"),
        ([PUBLIC, "64:ff9b:1::808:808"], "not_public"),
        ([PUBLIC, "2002:808:808::1"], "not_public"),
        ([PUBLIC, "fe80::1%eth0"], "not_public"),
        ([PUBLIC, "127.1"], "not_public"),
        ([PUBLIC, "localhost"], "not_public"),
        ([PUBLIC, ""], "not_public"),
        ([PUBLIC, "100.127.255.255"], "not_public"),
        ([PUBLIC, "192.0.0.9"], "not_public"),
        ([PUBLIC, "255.255.255.255"], "not_public"),
        ([PUBLIC, "ff0e::1"], "not_public"),
        ([PUBLIC, "5f00::1"], "not_public"),
        ([PUBLIC, "100.100.100.200"], "metadata"),
        ([PUBLIC, "fd00:ec2::254"], "metadata"),
    ],
)
def test_by_what_its_name_led_to(answers: list[str], reason: str) -> None:
    assert verdict("https://hooks.example.com/", answers) == reason


@pytest.mark.parametrize(
    ("allow", "url", "answers"),
    [
        ("169.254.169.254:443", "https://169.254.169.254/", []),
        ("[fd00:ec2::254]:443", "https://[fd00:ec2::254]/", []),
        ("metadata.google.internal:443", "https://metadata.google.internal/", ["169.254.169.254"]),
        ("metadata:443", "https://metadata/", ["::ffff:169.254.169.254"]),
        ("100.64.0.0/10", "https://h.example.com/", ["100.100.100.200"]),
        ("64:ff9b:1::/48", "https://h.example.com/", ["64:ff9b:1:a9fe:a9:fe00::"]),
        ("64:ff9b:1::/48", "https://h.example.com/", ["64:ff9b:1:0:a9:fea9:fe00:0"]),
        ("2002::/16", "https://h.example.com/", ["2002:a9fe:a9fe::1"]),
    ],
)
def test_metadata_that_an_entry_would_lift(allow: str, url: str, answers: list[str]) -> None:
    assert verdict(url, answers, allow=allow) == "metadata"
