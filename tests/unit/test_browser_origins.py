"""Which texts are an origin, in the one spelling that browsers send."""

from __future__ import annotations

import pytest

from restante.errors import ValidationFailed
from restante.identity.browser_origins import MOST_ORIGINS, check_origins

GOOD = [
    "https://app.example.com",
    "https://app.example.com:8443",
    "https://xn--bcher-kva.example",
    "https://192.0.2.7",
    "https://[2001:db8::7]:8443",
    "https://intranet",
    "http://localhost:3000",
    "http://app.localhost",
    "http://127.0.0.1:5173",
    "http://[::1]:8000",
]
WRONG = {
    "*": "must be one origin",
    "https://*.example.com": "must be one origin",
    "null": "is no origin",
    "": "is no origin",
    "app.example.com": "is no origin",
    "//app.example.com": "is no origin",
    "https://": "is no origin",
    "https:app.example.com": "is no origin",
    "ftp://app.example.com": "is no origin",
    "chrome-extension://abcdefgh": "is no origin",
    "https://app.example.com#a": "is no origin",
    "https://you@app.example.com": "is no origin",
    "https://app.example.com.": "is no origin",
    "https://bücher.example": "is no origin",
    "https://app.example.com:0": "is no origin",
    "https://app.example.com:65536": "is no origin",
    "https://app.example.com:": "is no origin",
    "https://1.2.3": "is no origin",
    "https://0x7f.1": "is no origin",
    "https://[2001:DB8:0::7]": "is no origin",
    " https://app.example.com": "is no origin",
    "https://app.example.com\n": "is no origin",
    "https://app.example.com, https://b.example.com": "is no origin",
    "http://app.example.com": "must begin with https://",
    "http://192.168.0.7:3000": "must begin with https://",
    "http://0.0.0.0": "must begin with https://",
    "http://localhost.example.com": "must begin with https://",
    "https://app.example.com/": "write https://app.example.com",
    "https://app.example.com/inbox": "write https://app.example.com",
    "https://app.example.com?a": "write https://app.example.com",
    "https://App.Example.com": "write https://app.example.com",
    "HTTPS://app.example.com": "write https://app.example.com",
    "https://app.example.com:443": "write https://app.example.com",
    "http://localhost:80": "write http://localhost",
}


@pytest.mark.parametrize("text", GOOD)
def test_an_origin(text: str) -> None:
    assert check_origins([text], pointer="/allowed_origins") == [text]


@pytest.mark.parametrize("text", WRONG)
def test_what_is_none_is_refused_by_its_place_with_what_would_do(text: str) -> None:
    with pytest.raises(ValidationFailed) as caught:
        check_origins([GOOD[0], text], pointer="/allowed_origins")
    (fault,) = caught.value.members["errors"]
    assert fault["pointer"] == "/allowed_origins/1"
    assert WRONG[text] in fault["detail"]


def test_one_is_given_once_and_there_are_not_too_many() -> None:
    with pytest.raises(ValidationFailed) as caught:
        check_origins([GOOD[0], GOOD[1], GOOD[0]], pointer="/o")
    assert caught.value.members["errors"][0]["pointer"] == "/o/2"
    many = [f"https://app-{n}.example.com" for n in range(MOST_ORIGINS + 1)]
    assert len(check_origins(many[1:], pointer="/o")) == MOST_ORIGINS
    with pytest.raises(ValidationFailed) as caught:
        check_origins(many, pointer="/o")
    assert caught.value.members["errors"][0]["pointer"] == "/o"
