"""Tokens whose header or signature lies. Numbers are those of the attack cases on tokens (JO-…)."""

from __future__ import annotations

import hmac
import json
import zlib
from hashlib import sha256

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from joserfc.jwk import OKPKey

from restante.identity import tokens
from restante.identity.authority import LOOK_AGAIN_SECONDS
from tests.oauth.conftest import ISSUER, Server
from tests.oauth.forging import (
    encode,
    header_of,
    own_key,
    payload_of,
    refused,
    signed,
    with_header,
)
from tests.support.databases import TestDatabase


@pytest.fixture
def database(sqlite_database: TestDatabase) -> TestDatabase:
    """Nothing here depends on the database."""
    return sqlite_database


@pytest.fixture
def token(server: Server) -> str:
    """A good token of an agent."""
    tenant = server.tenant()
    tenant.project("p1")
    return server.token(tenant.agent("bob", "agent:p1:read"))


@pytest.mark.parametrize("alg", ["none", "nOnE", "None", "NONE", ""])
def test_without_signature(server: Server, token: str, alg: str) -> None:
    """JO-001, JO-002."""
    head = encode(json.dumps({**header_of(token), "alg": alg}).encode())
    body = token.split(".")[1]
    assert refused(server, f"{head}.{body}.")
    assert refused(server, f"{head}.{body}")


def test_keyed_with_public_bytes_or_known_secrets(server: Server, token: str) -> None:
    """JO-003, JO-005, JO-006, JO-007."""
    public = own_key(server).public_key
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    secrets = [
        *(pem, pem.rstrip(), public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)),
        public.public_bytes(Encoding.Raw, PublicFormat.Raw),
        *(b"", b"secret", b"changeme", ISSUER.encode(), bytes(32)),
    ]
    kids = [
        header_of(token)["kid"],
        "../../../../dev/null",
        "x' UNION SELECT 'c2VjcmV0' -- ",
        "1 OR 1=1",
    ]
    for kid in kids:
        head = encode(json.dumps({"alg": "HS256", "typ": "at+jwt", "kid": kid}).encode())
        message = f"{head}.{token.split('.')[1]}"
        for secret in secrets:
            mac = hmac.digest(secret, message.encode(), sha256)
            assert refused(server, f"{message}.{encode(mac)}")


@pytest.mark.parametrize("alg", ["ES256", "PS256", "RS256", "Ed448", "Ed25519"])
def test_the_key_fixes_the_algorithm(server: Server, token: str, alg: str) -> None:
    """JO-004: even over a signature that holds."""
    assert refused(server, with_header(server, token, alg=alg))


@pytest.mark.parametrize("kid", [None, "", "unknown", 1, ["x"], {"a": 1}])
def test_kid_unknown_or_absent(server: Server, token: str, kid: object) -> None:
    """JO-008, JO-009."""
    foreign = OKPKey.generate_key("Ed25519")
    header = {k: v for k, v in {**header_of(token), "kid": kid}.items() if v is not None}
    assert refused(server, signed(header, payload_of(token), foreign))
    assert refused(server, signed(header, payload_of(token), own_key(server)))


def test_unknown_kids_hardly_make_the_keys_be_read_again(server: Server, token: str) -> None:
    """JO-008."""
    assert not refused(server, token)
    before = server.house.authority._keys.held
    foreign = OKPKey.generate_key("Ed25519")
    for number in range(200):
        header = {**header_of(token), "kid": f"k{number}"}
        assert refused(server, signed(header, payload_of(token), foreign))
    assert server.house.authority._keys.held is before
    # a moment later once, however many come: one of them may be of a new key
    server.pass_time(LOOK_AGAIN_SECONDS)
    loaded = []
    for number in range(200):
        header = {**header_of(token), "kid": f"k{number}"}
        assert refused(server, signed(header, payload_of(token), foreign))
        loaded.append(server.house.authority._keys.held)
    assert loaded[0] is not before
    assert loaded[-1] is loaded[0]


@pytest.mark.parametrize(
    "member",
    [
        {"jku": "https://attacker.example/jwks.json"},
        {"x5u": "https://attacker.example/chain.pem"},
        {"x5c": ["MIIB"]},
        {"crit": ["exp-policy"], "exp-policy": 1},
        {"zip": "DEF"},
        {"b64": False, "crit": ["b64"]},
    ],
)
def test_header_members_that_are_none_of_ours(
    server: Server, token: str, member: dict[str, object]
) -> None:
    """JO-010, JO-012, JO-013, JO-014."""
    assert refused(server, with_header(server, token, **member))


def test_a_key_brought_along(server: Server, token: str) -> None:
    """JO-011."""
    foreign = OKPKey.generate_key("Ed25519")
    header = {**header_of(token), "jwk": foreign.as_dict(private=False)}
    assert refused(server, signed(header, payload_of(token), foreign))


def test_compressed_encrypted_huge_and_deep(
    server: Server, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """JO-014, JO-015. What is too long costs nothing: no part of it is ever decoded."""
    decoded: list[str] = []
    decode = tokens.decoded
    monkeypatch.setattr(tokens, "decoded", lambda part: decoded.append(part) or decode(part))
    deep = b'{"alg":"EdDSA","typ":"at+jwt","kid":' + b"[" * 3000 + b"]" * 3000 + b"}"
    for bad in (
        "a.b.c.d.e",
        encode(zlib.compress(b"x")) + ".." + encode(bytes(64)),
        f"{encode(deep)}.{token.split('.')[1]}.{encode(bytes(64))}",
        signed(header_of(token), b'{"x":' + b"[" * 3000 + b"]" * 3000 + b"}", own_key(server)),
        "A" * 1_000_000,
        "A" * 300_000 + "." + "A" * 300_000 + "." + "A" * 300_000,
    ):
        assert refused(server, bad)
    assert decoded
    assert max(map(len, decoded)) <= tokens._LONGEST
