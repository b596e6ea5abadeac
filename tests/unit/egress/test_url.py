"""A URL has one reading and one spelling, or is refused; nothing else is ever raised."""

from __future__ import annotations

import socket
import string
from ipaddress import IPv4Address

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from restante.egress.ranges import special
from restante.egress.refusal import EgressRefused, Reason
from restante.egress.url import parse_url
from restante.egress.verdict import judge_text
from tests.unit.egress.canned import canned

PIECES = st.sampled_from(
    [
        *("https", "HTTP", "ftp", ":", "/", "//", "\\", "@", "#", "?", "%", "%2e", "[", "]", "."),
        *("127.0.0.1", "::1", "fe80::1%25eth0", "0x7f", "localhost", "hooks.example.com", "xn--"),
        *(":443", ":0443", ":8443", " ", "\t", "\r\n", "\0", "\u3002", "\uff0e", "\u2460", "é"),
        *("-", "_", "*", ";", "&", "a", "1", "010", "user:pass@", "../", "xn--bcher-kva"),
    ]
)


def refusal(text: str) -> Reason | None:
    try:
        parse_url(text)
    except EgressRefused as error:
        return error.reason
    return None


@given(
    st.builds(
        "{}{}".format,
        st.sampled_from(["", "https://", "https://h.example.com", "https://h.example.com:443/"]),
        st.lists(PIECES | st.text(max_size=3), max_size=6).map("".join),
    )
)
@example("https://[::ffff:1.2.3.4]/")
@example("https://hooks.example.com:٤٤٣/")
def test_what_is_taken_has_one_spelling(text: str) -> None:
    if refusal(text) is not None:
        return
    target = parse_url(text)
    assert parse_url(target.url) == target
    assert set(target.url) <= set(string.printable) - set(string.whitespace)
    assert target.url.split("/")[2] == target.authority
    assert not set("@#\\") & set(target.authority)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["{}", "{:o}", "0{:o}", "0x{:x}", "0X{:X}", "00{}"]),
            st.integers(0, 2**32 - 1) | st.integers(0, 255) | st.just(127),
        ).map(lambda part: part[0].format(part[1])),
        min_size=1,
        max_size=5,
    ).map(".".join)
)
def test_whatever_a_resolver_reads_as_an_address_is_refused_unless_canonical(host: str) -> None:
    try:
        packed = socket.inet_aton(host)
    except OSError:
        packed = None
    reason = refusal(f"https://{host}/")
    if packed is None or str(IPv4Address(packed)) != host:
        assert reason is Reason.ADDRESS_FORM
    else:
        assert parse_url(f"https://{host}/").literal == IPv4Address(packed)


@given(st.integers(0, 2**32 - 1).map(IPv4Address))
def test_no_literal_is_called_unless_it_is_named(address: IPv4Address) -> None:
    with pytest.raises(EgressRefused) as refused:
        judge_text(f"https://{address}/", canned().policy)
    assert (refused.value.reason is Reason.LITERAL) is (special(address) is None)


@pytest.mark.parametrize(
    ("text", "url", "authority", "path"),
    [
        ("https://H.Example.com", "https://h.example.com/", "h.example.com", "/"),
        ("HTTPS://h.example.com:443/a?b", "https://h.example.com/a?b", "h.example.com", "/a?b"),
        ("https://h.example.com?b=/", "https://h.example.com/?b=/", "h.example.com", "/?b=/"),
        ("https://h.example.com:8443", "https://h.example.com:8443/", "h.example.com:8443", "/"),
        (
            "https://[2606:4700::AB]:8443/",
            "https://[2606:4700::ab]:8443/",
            "[2606:4700::ab]:8443",
            "/",
        ),
        ("http://h.example.com:80/", "http://h.example.com/", "h.example.com", "/"),
        (
            "https://h.example.com/a/../b/%2F..",
            "https://h.example.com/a/../b/%2F..",
            "h.example.com",
            "/a/../b/%2F..",
        ),
        (
            "https://h.example.com/?a[]=1",
            "https://h.example.com/?a[]=1",
            "h.example.com",
            "/?a[]=1",
        ),
    ],
)
def test_the_one_spelling(text: str, url: str, authority: str, path: str) -> None:
    target = parse_url(text)
    assert (target.url, target.authority, target.path) == (url, authority, path)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("https://h.example.com/" + "p" * 2027, Reason.LENGTH),
        ("https://h.example.com/a b", Reason.CHARACTERS),
        ("https://h.example.com/%zz", Reason.CHARACTERS),
        ("https://h.example.com/<", Reason.CHARACTERS),
        ("https://bücher.example.com/", Reason.CHARACTERS),
        ("https:/h.example.com/", Reason.SCHEME),
        ("gopher://h.example.com/", Reason.SCHEME),
        ("https://h.example.com/#", Reason.FRAGMENT),
        ("https://@h.example.com/", Reason.USERINFO),
        ("https://h%2eexample.com/", Reason.HOST),
        ("https://h.example.com./", Reason.HOST),
        ("https://a_b.example.com/", Reason.HOST),
        ("https://xn--a.example.com/", Reason.HOST),
        ("https://[::1]x/", Reason.HOST),
        ("https://h.example.com:443:443/", Reason.HOST),
        ("https://127.1/", Reason.ADDRESS_FORM),
        ("https://[0:0:0:0:0:0:0:1]/", Reason.ADDRESS_FORM),
        ("https://[::ffff:8.8.8.8]/", Reason.ADDRESS_FORM),
        ("https://[::ffff:808:808]/", Reason.ADDRESS_FORM),
        ("https://[fe80::1%25eth0]/", Reason.HOST),
        ("https://h.example.com:/", Reason.PORT),
        ("https://h.example.com:0443/", Reason.PORT),
        ("https://h.example.com:65536/", Reason.PORT),
    ],
)
def test_why_a_text_is_refused(text: str, reason: Reason) -> None:
    assert refusal(text) is reason
