"""Access tokens whose header or signature lies (JO-001 to JO-015)."""

from __future__ import annotations

import hmac
import json
import socket
import zlib
from hashlib import sha256

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from joserfc.jwk import OKPKey

from tests.attacks.arena import Attacker
from tests.oauth.forging import decode, encode, header_of, payload_of

ALGORITHMS = ("none", "nOnE", "None", "NONE", "")


def unsigned(alice: Attacker, **header: object) -> str:
    """Header and payload, without a signature and its dot."""
    head = encode(json.dumps({**header_of(alice.token), **header}).encode())
    return f"{head}.{alice.token.split('.')[1]}"


def keyed(alice: Attacker, secret: bytes, **header: object) -> str:
    """With an HMAC."""
    message = unsigned(alice, alg="HS256", **header)
    return f"{message}.{encode(hmac.digest(secret, message.encode(), sha256))}"


def refused(alice: Attacker, *tokens: str) -> None:
    for token in tokens:
        assert alice.stats(token).is_invalid_token, token[:80]


def test_jo_001_alg_none(alice: Attacker) -> None:
    assert alice.stats().status == 200
    refused(alice, unsigned(alice, alg="none") + ".")


@pytest.mark.parametrize("alg", ALGORITHMS)
def test_jo_002_alg_none_in_other_spellings(alice: Attacker, alg: str) -> None:
    refused(alice, unsigned(alice, alg=alg) + ".", unsigned(alice, alg=alg))


def test_jo_003_hmac_keyed_with_the_public_key(alice: Attacker) -> None:
    """In all forms that the published key can be written in."""
    answer = alice.wire.send("GET", "/oauth/jwks.json")
    (published,) = (
        key for key in answer.json["keys"] if key["kid"] == header_of(alice.token)["kid"]
    )
    public = OKPKey.import_key(published).public_key
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    der = public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    raw = public.public_bytes(Encoding.Raw, PublicFormat.Raw)
    for secret in (pem, pem.rstrip(), der, raw, published["x"].encode(), answer.body):
        refused(alice, keyed(alice, secret))


def test_jo_004_the_key_fixes_the_algorithm(alice: Attacker) -> None:
    """Whatever the header names, over our own key's signature and over that of a fitting key."""
    for alg in ("ES256", "PS256", "RS256", "Ed448", "Ed25519", "HS256", "ES256K"):
        refused(alice, alice.with_header(alg=alg))
    elliptic, large = ec.generate_private_key(ec.SECP256R1()), rsa.generate_private_key(65537, 2048)
    message = unsigned(alice, alg="ES256")
    made = elliptic.sign(message.encode(), ec.ECDSA(SHA256()))
    refused(alice, f"{message}.{encode(made)}", f"{message}.{encode(made[:64])}")
    message = unsigned(alice, alg="PS256")
    pss = padding.PSS(padding.MGF1(SHA256()), 32)
    refused(alice, f"{message}.{encode(large.sign(message.encode(), pss, SHA256()))}")


def test_jo_005_hmac_with_a_known_secret(alice: Attacker) -> None:
    for secret in (b"", b"secret", b"changeme", alice.arena.issuer.encode(), bytes(32)):
        refused(alice, keyed(alice, secret))
    keys = alice.wire.send("GET", "/oauth/jwks.json").json["keys"]
    assert {key["kty"] for key in keys} == {"OKP"}


@pytest.mark.parametrize(
    "kid", ["../../../../dev/null", "/proc/self/environ", "/dev/null", "file:///etc/passwd", "\x00"]
)
def test_jo_006_kid_as_a_path(alice: Attacker, kid: str) -> None:
    """Key ids are looked up among those of the database and are never part of a name of a file."""
    refused(alice, keyed(alice, b"", kid=kid), alice.with_header(kid=kid))


@pytest.mark.parametrize(
    "kid",
    ["x' UNION SELECT 'c2VjcmV0' -- ", "1 OR 1=1", "' OR ''='", "%", '"; DROP TABLE token_key'],
)
def test_jo_007_kid_as_sql(alice: Attacker, kid: str) -> None:
    unknown = alice.stats(alice.with_header(kid="unknown"))
    for token in (keyed(alice, b"secret", kid=kid), alice.with_header(kid=kid)):
        answer = alice.stats(token)
        assert answer.is_invalid_token
        assert answer.json["detail"] == unknown.json["detail"]


def test_jo_008_unknown_kids_by_the_hundred(alice: Attacker) -> None:
    """They are refused alike and cost the honest nothing; that no key is read again is a unit's test."""
    foreign = OKPKey.generate_key("Ed25519")
    for number in range(200):
        header = {**header_of(alice.token), "kid": f"k{number}"}
        refused(alice, alice.forged(header=header, key=foreign))
    assert alice.stats().status == 200


def test_jo_009_no_kid(alice: Attacker) -> None:
    refused(alice, alice.with_header(kid=None))


def test_jo_010_jku_of_the_attacker(alice: Attacker) -> None:
    """Nothing is fetched: nobody knocks where the header points to."""
    foreign = OKPKey.generate_key("Ed25519")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/jwks.json"
        header = {**header_of(alice.token), "jku": url}
        refused(alice, alice.forged(header=header, key=foreign), alice.with_header(jku=url))
        refused(alice, alice.forged(header={**header, "kid": "theirs"}, key=foreign))
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()


def test_jo_011_a_key_in_the_header(alice: Attacker) -> None:
    foreign = OKPKey.generate_key("Ed25519")
    for jwk in (foreign.as_dict(private=False), foreign.as_dict(private=True)):
        header = {**header_of(alice.token), "jwk": jwk}
        refused(alice, alice.forged(header=header, key=foreign))
        del header["kid"]
        refused(alice, alice.forged(header=header, key=foreign))


def test_jo_012_certificates_in_the_header(alice: Attacker) -> None:
    foreign = OKPKey.generate_key("Ed25519")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/chain.pem"
        for member in ({"x5u": url}, {"x5c": ["MIIB"]}, {"x5t": "AAAA"}):
            refused(alice, alice.with_header(**member))
            refused(alice, alice.forged(header={**header_of(alice.token), **member}, key=foreign))
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()


@pytest.mark.parametrize(
    "member",
    [
        {"crit": ["exp-policy"], "exp-policy": 1},
        {"crit": ["b64"], "b64": False},
        {"crit": []},
        {"crit": "exp"},
        {"crit": ["alg"]},
    ],
)
def test_jo_013_critical_members(alice: Attacker, member: dict[str, object]) -> None:
    refused(alice, alice.with_header(**member))


def test_jo_014_compressed_or_encrypted(alice: Attacker) -> None:
    """No part of it is opened: what is a bomb stays one."""
    refused(alice, alice.with_header(zip="DEF"))
    bomb = zlib.compress(bytes(3_000_000))
    header = encode(json.dumps({"alg": "dir", "enc": "A256GCM", "zip": "DEF"}).encode())
    for token in (
        f"{header}..{encode(bytes(12))}.{encode(bomb)}.{encode(bytes(16))}",
        "a.b.c.d.e",
        alice.forged(header={**header_of(alice.token), "zip": "DEF"}, claims=bomb),
    ):
        refused(alice, token)


def test_jo_015_huge_or_deep(alice: Attacker) -> None:
    head, body, _ = alice.token.split(".")
    for size in (1_000_000, 100_000):
        text = (
            b"GET /api/v1/events HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer "
        )
        status, _ = alice.wire.raw(text + b"A" * size + b"\r\n\r\n")
        assert status in (0, 400, 401, 431)
    deep = b'{"alg":"EdDSA","typ":"at+jwt","kid":' + b"[" * 2500 + b"]" * 2500 + b"}"
    refused(alice, f"{encode(deep)}.{body}.{encode(bytes(64))}")
    claims = b'{"x":' + b"[" * 2500 + b"]" * 2500 + b"}"
    refused(alice, alice.forged(claims=claims), f"{head}.{encode(claims)}.{encode(bytes(64))}")
    # what is longer than any field may be, as a body is
    assert len(decode(encode(deep))) == len(deep)
    answer = alice.wire.form("/oauth/introspect", alice.basic, token="A" * 1_000_000)
    assert answer.status == 413
    answer = alice.wire.form("/oauth/introspect", alice.basic, token=f"{encode(deep)}.{body}.AA")
    assert answer.json == {"active": False}
    assert payload_of(alice.token)["sub"] == alice.id
