"""What no client would send to the OAuth endpoints: refused as what it is, never by a fault of ours."""

from __future__ import annotations

import random
from base64 import b64encode

import pytest

from restante.identity.assertions import TYPE
from tests.attacks.arena import Attacker
from tests.attacks.wire import FORM, new_address

NAMES = (
    *("grant_type", "client_id", "client_secret", "client_assertion", "client_assertion_type"),
    *("refresh_token", "device_code", "scope", "token", "token_type_hint", "host", "x", ""),
)
VALUES = (
    *(
        b"",
        b"%",
        b"%zz",
        b"%00",
        b"%ff%fe",
        b"%ed%a0%80",
        b"%f0%9f%92%a9",
        b"+",
        b"a" * 9000,
        b"=&;",
    ),
    *(b"client_credentials", b"refresh_token", b"restante-agent", b"agt_%00", b"agt_" + b"0" * 32),
    *(b"urn:ietf:params:oauth:grant-type:device_code", TYPE.encode(), b"..", b"e30.e30.e30"),
    *(b"eyJhbGciOiJFZERTQSJ9.eyJleHAiOk5hTn0.AAAA", b"[]", b"\x00\xff", "\u00e9".encode(), b"null"),
)
FIELDS = (
    {},
    {"Authorization": "Basic"},
    {"Authorization": "Basic " + b64encode(b"\xff:\xfe").decode()},
    {"Authorization": "Basic " + b64encode(b"%ff%:%00").decode()},
    {"Authorization": "Basic " + b64encode(b"agt_\x00:" + b"x" * 4000).decode()},
    {"Authorization": "Basic \xe9"},
    {"Authorization": "Negotiate x"},
    {"Authorization": ","},
    {"X-Request-Id": "\xe9" * 200, "User-Agent": "\xff" * 2000},
)
TYPES = (FORM, f"{FORM}; charset=utf-16", f"{FORM};boundary=x", "", "x", "multipart/form-data")
ANSWERS = {200, 400, 401, 413, 429}


@pytest.mark.parametrize("path", ["token", "device_authorization", "revoke", "introspect"])
def test_rubbish(alice: Attacker, path: str) -> None:
    """JO-015, JO-052, JO-059 and JO-090 at random, the same each time."""
    chance = random.Random(path)
    for number in range(120):
        if number % 10 == 0:
            alice.address = new_address()
        pairs = [
            chance.choice(NAMES).encode() + b"=" + chance.choice(VALUES)
            for _ in range(chance.randrange(6))
        ]
        fields = dict(chance.choice(FIELDS)) if chance.random() < 0.5 else dict(alice.basic)
        kind = FORM if chance.random() < 0.7 else chance.choice(TYPES)
        fields["Content-Type"] = kind
        answer = alice.wire.send("POST", f"/oauth/{path}", fields, b"&".join(pairs))
        assert answer.status in ANSWERS, (pairs, answer.body)
        if answer.status != 200:
            assert answer.json.keys() == {"error", "error_description"}
            assert answer.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("path", ["token", "device_authorization", "revoke", "introspect"])
def test_very_many_parameters_and_pieces(alice: Attacker, path: str) -> None:
    target = f"/oauth/{path}"
    many = b"&".join(b"x%d=1" % number for number in range(3000))
    # parameters that are not known are not looked at (RFC 6749, section 3.2)
    for content in (many, b"&" * 30_000, b"=" * 30_000, b"x" * 40_000, b"scope=" + b"a+" * 12_000):
        fields = {**alice.basic, "Content-Type": FORM}
        assert alice.wire.send("POST", target, fields, content).status in (200, 400, 413)
    head = f"POST {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: {FORM}\r\n"
    for more in (
        b"Transfer-Encoding: chunked\r\n\r\n3\r\na=b\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\nZZ\r\na=b\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n3\r\na=b\r\n0\r\n\r\n",
        b"Content-Length: -1\r\n\r\n",
        b"Content-Length: 99999999999\r\n\r\nx",
    ):
        status, _ = alice.wire.raw(head.encode() + more)
        assert status in (0, 400, 401, 413)


@pytest.mark.parametrize(
    "target", ["/device/approve", "/sign-out", "/sign-in/x", "/api/v1/events", "/oauth/token"]
)
def test_chunks_that_are_none(alice: Attacker, target: str) -> None:
    """Wherever a form may be read, for tokens in it too."""
    host = alice.arena.issuer.removeprefix("http://")
    head = (
        f"POST {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Type: {FORM}\r\n"
        f"Origin: http://{host}\r\nAuthorization: Bearer {alice.token}\r\n"
        "Cookie: restante-session=x; restante-visitor=x\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    for chunks in ("ZZ\r\na=b\r\n0\r\n\r\n", "3\r\na=bXX\r\n0\r\n\r\n"):
        status, got = alice.wire.raw(head.encode() + chunks.encode())
        assert status in (0, 303, 400, 401, 403, 404), got


@pytest.mark.parametrize("target", ["/oauth/token", "/oauth/jwks.json", "/api/v1/events"])
def test_a_request_for_nobody(alice: Attacker, target: str) -> None:
    """HTTP/1.1 without Host (RFC 9112, section 3.2); HTTP/1.0 knows none."""
    status, _ = alice.wire.raw(f"GET {target} HTTP/1.1\r\nConnection: close\r\n\r\n".encode())
    assert status == 400
    status, _ = alice.wire.raw(f"GET {target} HTTP/1.0\r\n\r\n".encode())
    assert status in (200, 401, 405)


def test_a_form_in_another_coding(alice: Attacker) -> None:
    fields = {**alice.basic, "Content-Type": FORM, "Content-Encoding": "gzip"}
    answer = alice.wire.send("POST", "/oauth/token", fields, b"grant_type=client_credentials")
    assert (answer.status, answer.json["error"]) == (400, "invalid_request")
