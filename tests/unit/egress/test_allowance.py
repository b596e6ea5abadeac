"""What the operator's settings lift, and what nothing lifts (contract section 7)."""

from __future__ import annotations

import pytest

from restante.egress.allowance import parse_allowance, parse_issuer, parse_own, parse_ports
from restante.egress.policy import Policy, Purpose
from restante.egress.refusal import EgressRefused, Reason
from tests.unit.egress.canned import PUBLIC, Names, canned

ORIGIN = "https://restante.example.com"


def reason(
    url: str,
    answers: list[str] | None = None,
    *,
    allow: str = "",
    public_url: str = ORIGIN,
    own: str = "",
    issuer: str = "",
    purpose: Purpose = Purpose.CALLBACK,
) -> str:
    """The verdict as one word: `allowed`, or the reason."""
    policy = Policy(
        allowance=parse_allowance(allow),
        own=parse_own(public_url, own),
        issuer=parse_issuer(issuer),
    )
    try:
        canned(policy, names=Names([answers or [PUBLIC]])).judge(url, purpose=purpose)
    except EgressRefused as refused:
        return refused.reason
    return "allowed"


@pytest.mark.parametrize(
    ("allow", "url", "answers", "verdict"),
    [
        # the port rule, the ban on literals and single labels, the address rule
        ("h.example.com:9443", "https://h.example.com:9443/", [PUBLIC], "allowed"),
        ("h.example.com:9443", "https://h.example.com:9443/", ["10.0.0.1"], "allowed"),
        ("10.0.0.1:9443", "https://10.0.0.1:9443/", [], "allowed"),
        ("8.8.8.8:443", "https://8.8.8.8/", [], "allowed"),
        ("[fd00::1]:9443", "https://[fd00::1]:9443/", [], "allowed"),
        ("intranet:443", "https://intranet/", ["10.0.0.1"], "allowed"),
        ("N8N.lan:443", "https://n8n.LAN/", ["192.168.0.9"], "allowed"),
        ("127.0.0.1:9443", "https://127.0.0.1:9443/", [], "allowed"),
        ("localhost:9443", "https://localhost:9443/", ["127.0.0.1", "::1"], "allowed"),
        ("a.example.com:1, 10.0.0.1:443,", "https://10.0.0.1/", [], "allowed"),
        # for exactly that host and port
        ("h.example.com:9443", "https://h.example.com/", ["10.0.0.1"], "not_public"),
        ("h.example.com:9443", "https://h.example.com:9444/", [PUBLIC], "port"),
        ("h.example.com:443", "https://a.h.example.com/", ["10.0.0.1"], "not_public"),
        ("10.0.0.1:443", "https://10.0.0.2/", [], "not_public"),
        ("10.0.0.1:443", "https://h.example.com/", ["10.0.0.1"], "not_public"),
        ("intranet:443", "https://intranet:8443/", ["10.0.0.1"], "single_label"),
        # it lifts nothing else
        ("h.example.com:80", "http://h.example.com/", [PUBLIC], "scheme"),
        ("h.example.com:443", "https://u@h.example.com/", [PUBLIC], "userinfo"),
        ("127.0.0.1:443", "https://127.1/", [], "address_form"),
        # a network lifts the address rule alone
        ("10.0.0.0/8", "https://h.example.com/", ["10.0.0.1"], "allowed"),
        ("10.0.0.0/8", "https://h.example.com/", ["10.0.0.1", PUBLIC], "allowed"),
        ("10.0.0.0/8", "https://h.example.com/", ["::ffff:10.0.0.1"], "allowed"),
        ("10.0.0.1", "https://h.example.com/", ["10.0.0.1"], "allowed"),
        ("fd00::/8", "https://h.example.com/", ["fd00::1"], "allowed"),
        ("10.0.0.0/8", "https://h.example.com/", ["10.0.0.1", "192.168.0.1"], "not_public"),
        ("10.0.0.0/8", "https://h.example.com/", ["64:ff9b::10.0.0.1"], "not_public"),
        ("10.0.0.0/8", "https://h.example.com:9443/", ["10.0.0.1"], "port"),
        ("10.0.0.0/8", "https://10.0.0.1/", [], "literal"),
        ("10.0.0.0/8", "https://intranet/", ["10.0.0.1"], "single_label"),
        ("10.0.0.0/8", "https://n8n.lan/", ["10.0.0.1"], "private_name"),
        ("10.0.0.0/8", "https://h.example.com/", ["fe80::1%eth0"], "not_public"),
    ],
)
def test_what_an_entry_lifts(allow: str, url: str, answers: list[str], verdict: str) -> None:
    assert reason(url, answers, allow=allow) == verdict


@pytest.mark.parametrize(
    "answer",
    [
        *("169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16", "fd00:ec2::254"),
        *("::ffff:169.254.169.254", "64:ff9b::169.254.169.254", "2002:a9fe:a9fe::1"),
        *("64:ff9b:1::169.254.169.254", "::169.254.169.254", "fd00::5efe:169.254.169.254"),
        *("fe80::a9fe:a9fe", "fd20:ce::254"),
    ],
)
@pytest.mark.parametrize("allow", ["h.internal:443", "0.0.0.0/0,::/0"])
def test_metadata_is_allowed_by_nothing(allow: str, answer: str) -> None:
    host = "h.internal" if allow == "h.internal:443" else "h.example.com"
    assert reason(f"https://{host}/", [answer], allow=allow) == "metadata"
    assert reason(f"https://{host}/", [PUBLIC, answer], allow=allow) == "metadata"


@pytest.mark.parametrize("literal", ["169.254.169.254", "[fd00:ec2::254]", "100.100.100.200"])
def test_a_metadata_literal_is_refused_by_its_text(literal: str) -> None:
    url = f"https://{literal}/"
    assert reason(url, allow=f"{literal}:443") == "metadata"
    issuer = reason(url, issuer=url, purpose=Purpose.OIDC)
    assert issuer == "metadata"


@pytest.mark.parametrize(
    ("public_url", "own", "url", "answers", "verdict"),
    [
        (ORIGIN, "", "https://restante.example.com/", [PUBLIC], "own"),
        (ORIGIN, "", "https://RESTANTE.example.com:8443/", [PUBLIC], "own"),
        (ORIGIN, "", "https://www.restante.example.com/", [PUBLIC], "allowed"),
        (ORIGIN, "console.example.com", "https://console.example.com/", [PUBLIC], "own"),
        (ORIGIN, "93.184.215.20", "https://self.example.com/", ["93.184.215.20"], "own"),
        (ORIGIN, "93.184.215.16/28", "https://h.example.com/", ["::ffff:93.184.215.20"], "own"),
        (ORIGIN, "93.184.215.20", "https://h.example.com/", [PUBLIC, "93.184.215.20"], "own"),
        ("https://8.8.8.8", "", "https://h.example.com/", ["8.8.8.8"], "own"),
        ("https://8.8.8.8", "", "https://8.8.8.8:8443/", [], "own"),
        # loopback is the whole machine's: there the port is ours
        ("http://127.0.0.1:8000", "", "https://127.0.0.1:8000/", [], "own"),
        ("http://127.0.0.1:8000", "", "https://localhost:8000/", ["127.0.0.1"], "own"),
        ("http://localhost:8000", "", "https://[::1]:8000/", [], "own"),
        ("http://localhost:8000", "", "https://h.example.com:8000/", ["0.0.0.0"], "own"),
        ("http://127.0.0.1:8000", "", "https://127.0.0.1:9443/", [], "allowed"),
        ("https://localhost", "", "https://localhost:9443/", ["127.0.0.1"], "allowed"),
        # but what is named as ours is, at every port
        (ORIGIN, "localhost", "https://localhost:9443/", ["127.0.0.1"], "own"),
        (ORIGIN, "LocalHost", "https://127.0.0.1:9443/", [], "own"),
        (ORIGIN, "localhost", "https://a.localhost:9443/", ["::1"], "own"),
        (ORIGIN, "127.0.0.1", "https://localhost:9443/", ["127.0.0.1"], "own"),
        (ORIGIN, "127.0.0.1", "https://[::1]:9443/", [], "own"),
        (ORIGIN, "127.0.0.0/8", "https://h.example.com:8000/", ["0.0.0.0"], "own"),
        (ORIGIN, "::1", "https://h.example.com:8000/", ["::ffff:127.0.0.1"], "own"),
        ("http://127.0.0.1:8000", "localhost", "https://127.0.0.1:9443/", [], "own"),
        (ORIGIN, "a.localhost", "https://a.localhost:9443/", ["127.0.0.1"], "own"),
        (ORIGIN, "a.localhost", "https://127.0.0.1:9443/", [], "allowed"),
    ],
)
def test_our_own_host_is_called_by_nothing(
    public_url: str, own: str, url: str, answers: list[str], verdict: str
) -> None:
    authority = url.split("/")[2]
    entry = authority if authority[-1].isdigit() and ":" in authority else f"{authority}:443"
    named = "h.example.com:8000,127.0.0.1:9443,0.0.0.0/0,::/0"
    assert reason(url, answers, allow=f"{entry},{named}", public_url=public_url, own=own) == verdict


ISSUER = "https://login.corp:9443/realms/a"


@pytest.mark.parametrize(
    ("issuer", "url", "purpose", "verdict"),
    [
        (ISSUER, "https://login.corp:9443/x", Purpose.OIDC, "allowed"),
        (ISSUER, "https://login.corp/keys", Purpose.OIDC, "allowed"),
        (ISSUER, "https://login.corp:9443/x", Purpose.CALLBACK, "port"),
        (ISSUER, "https://login.corp/x", Purpose.CALLBACK, "private_name"),
        (ISSUER, "https://keys.example.com/x", Purpose.OIDC, "not_public"),
        (ISSUER, "http://login.corp:9443/x", Purpose.OIDC, "scheme"),
        ("http://127.0.0.1:9000", "http://127.0.0.1:9000/x", Purpose.OIDC, "allowed"),
        ("http://127.0.0.1:9000", "http://127.0.0.1:9000/x", Purpose.CALLBACK, "scheme"),
        ("http://127.0.0.1:9000", "http://127.0.0.1:8000/x", Purpose.OIDC, "own"),
        ("http://127.0.0.1:9000", "http://localhost:9000/x", Purpose.OIDC, "scheme"),
        ("http://idp.example.com", "http://idp.example.com/x", Purpose.OIDC, "scheme"),
    ],
)
def test_the_issuers_host_is_allowed_for_oidc_only(
    issuer: str, url: str, purpose: Purpose, verdict: str
) -> None:
    given = {"issuer": issuer, "public_url": "http://127.0.0.1:8000"}
    assert reason(url, ["10.0.0.1"], purpose=purpose, **given) == verdict


def test_an_issuer_at_another_port_of_our_host_is_called_and_our_own_is_not() -> None:
    issuer = "https://restante.example.com:8443/realms/a"
    given = {"issuer": issuer, "purpose": Purpose.OIDC}
    assert reason(issuer, **given) == "allowed"
    assert reason(f"{ORIGIN}/x", **given) == "own"
    assert reason(issuer, issuer=issuer) == "own"
    here = {
        "issuer": "http://127.0.0.1:9000",
        "own": "localhost",
        "public_url": "http://127.0.0.1:8000",
    }
    assert reason("http://127.0.0.1:9000/x", purpose=Purpose.OIDC, **here) == "allowed"


@pytest.mark.parametrize(
    "entry",
    [
        *("host", "h.example.com", "https://h.example.com:443", "h.example.com:0443", "h:70000"),
        *("user@h.example.com:443", "*.example.com:443", "10.0.0.1/8", "h.example.com:443/x"),
        *("::ffff:10.0.0.0/104", "127.1:443", "[::ffff:10.0.0.1]:443", "h.example.com.:443"),
    ],
)
def test_an_entry_that_could_never_match_is_a_fault(entry: str) -> None:
    with pytest.raises(ValueError, match="has the entry"):
        parse_allowance(f"10.0.0.0/8,{entry}")


def test_ports_are_configurable() -> None:
    policy = Policy(ports=parse_ports("443, 9443"))
    assert canned(policy).judge("https://h.example.com:9443/").target.port == 9443
    with pytest.raises(EgressRefused) as refused:
        canned(policy).judge("https://h.example.com:8443/")
    assert refused.value.reason is Reason.PORT
    for wrong in ("", "0443", "https", "70000"):
        with pytest.raises(ValueError, match="port"):
            parse_ports(wrong)
