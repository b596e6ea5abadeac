"""Who signs, and with what (JO-117 to JO-120)."""

from __future__ import annotations

from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from sqlalchemy import func, select

from restante.storage.tables.signatures import signing_key
from tests.attacks.arena import JSON, Attacker
from tests.attacks.signers import SCOPES, minted, signing
from tests.attacks.wire import bearer
from tests.http.signing import b64url, number, public_jwk
from tests.vectors import rfc9421 as vectors


def test_jo_117_the_token_of_one_and_the_key_of_another(alice: Attacker) -> None:
    tenant = alice.arena.tenant()
    one, other = (minted(tenant.agent(*SCOPES).signed_in()) for _ in range(2))
    mixed = signing(one.who, other.signer.key_id, other.signer.key)
    for method, path, body in (("GET", "A/inbox/stats", b""), ("POST", "A/inbox/claim", b"{}")):
        assert mixed.call(method, path, body).problem == "401 signature-unknown-key"
    fields = other.fields("GET", one.who.path("A/inbox/stats"))
    swapped = {**fields, **bearer(one.who.token)}
    assert one.send("GET", "A/inbox/stats", b"", swapped).problem == "401 signature-unknown-key"
    assert one.call("GET", "A/inbox/stats").status == 200


def test_jo_118_no_signature_where_one_is_wanted(alice: Attacker) -> None:
    who = alice.arena.tenant(require_signatures=True).agent(*SCOPES).signed_in(" ".join(SCOPES))
    sent: list[tuple[str, str, Any]] = [
        ("POST", "A/inbox/claim", {}),
        ("POST", "A/inbox/commit", {"through_cursor": 0}),
        ("POST", "A/events", {"project": "a", "type": "t", "payload": {}}),
        ("POST", "/api/v1/events", {"recipients": [], "project": "a", "payload": {}}),
        ("DELETE", "A/signing-keys/key_x", None),
    ]
    for method, path, body in sent:
        answer = who.call(method, path, body)
        assert answer.problem == "401 signature-missing", path
        wanted = answer.headers["Accept-Signature"]
        for name in ("@method", "@authority", "@path", "content-digest"):
            assert f'"{name}"' in wanted
        assert answer.headers["WWW-Authenticate"].startswith("Bearer ")
    assert who.call("GET", "A/inbox").status == 200
    assert who.call("POST", "A/signing-keys").status == 201


def published() -> list[dict[str, str]]:
    """The keys of our vectors, those of RFC 9421 appendix B among them, as JWKs."""
    found = []
    for key in [*vectors.DATA["profile_keys"], *vectors.DATA.get("rfc_keys", [])]:
        loaded: Any = load_pem_public_key(key["public_pem"].encode())

        class Half:
            """What `public_jwk` takes."""

            @staticmethod
            def public_key(own: Any = loaded) -> Any:
                return own

        found.append(public_jwk(Half))
    return found


APPENDIX_B = (
    {  # test-key-ed25519
        "kty": "OKP",
        "crv": "Ed25519",
        "x": "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs",
    },
    {  # test-key-ecc-p256
        "kty": "EC",
        "crv": "P-256",
        "x": "qIVYZVLCrPZHGHjP17CTW0_-D9Lfw0EkjqF7xB4FivA",
        "y": "Mc4nN9LTDOBhfoUeg8Ye9WedFRhnZXZJA12Qp0zZ6F0",
    },
)


def test_jo_119_published_test_keys(alice: Attacker) -> None:
    keys = [*APPENDIX_B, *published()]
    assert len(keys) > 4
    for jwk in keys:
        answer = alice.call("POST", "A/signing-keys", {"public_jwk": jwk})
        assert answer.problem == "422 validation-error", jwk
    assert kept(alice) == 0


def kept(alice: Attacker) -> int:
    counted = select(func.count()).where(signing_key.c.principal_id == alice.raw)
    return int(alice.arena.run(lambda s: s.connection().execute(counted).scalar_one()))


def weak() -> dict[str, dict[str, Any]]:
    small = public_jwk(rsa.generate_private_key(65537, 1024))  # noqa: S505 - weak on purpose
    large = public_jwk(rsa.generate_private_key(65537, 2048))
    curve = public_jwk(ec.generate_private_key(ec.SECP256R1()))
    edwards = ed25519.Ed25519PrivateKey.generate()
    good = public_jwk(edwards)
    return {
        "RSA of 1024 bits": small,
        "e is 1": {**large, "e": "AQ"},
        "e is 3 and even n": {**large, "e": "Aw", "n": number(2**2047)},
        "e is even": {**large, "e": "Ag"},
        "P-192": {"kty": "EC", "crv": "P-192", "x": b64url(bytes(24)), "y": b64url(bytes(24))},
        "P-384": {**curve, "crv": "P-384"},
        "secp256k1": {**curve, "crv": "secp256k1"},
        "a point that is not on the curve": {**curve, "y": number(5, 32)},
        "the identity": {"kty": "OKP", "crv": "Ed25519", "x": b64url(b"\x01" + bytes(31))},
        "a point of small order": {"kty": "OKP", "crv": "Ed25519", "x": b64url(bytes(32))},
        "another of small order": {
            "kty": "OKP",
            "crv": "Ed25519",
            "x": b64url(
                bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05")
            ),
        },
        "with its private half": {**good, "d": b64url(edwards.private_bytes_raw())},
        "symmetric": {"kty": "oct", "k": b64url(bytes(32))},
        "X25519": {**good, "crv": "X25519"},
        "no object": {},
        "a number": {**good, "x": 5},
        "padded": {**good, "x": good["x"] + "="},
        "short": {**good, "x": good["x"][:20]},
    }


WEAK = weak()


@pytest.mark.parametrize("what", WEAK)
def test_jo_120_weak_or_odd_keys(alice: Attacker, what: str) -> None:
    """What is refused is kept nowhere, and a private half is repeated nowhere."""
    jwk = WEAK[what]
    answer = alice.call("POST", "A/signing-keys", {"public_jwk": jwk})
    assert answer.problem == "422 validation-error"
    assert kept(alice) == 0
    if "d" in jwk:
        assert jwk["d"] not in answer.body.decode()
        assert jwk["d"] not in alice.arena.log.read_text()
    content = b'{"public_jwk": ' + b"[" * 3000 + b"]" * 3000 + b"}"
    fields = {**bearer(alice.token), **JSON}
    deep = alice.wire.send("POST", alice.path("A/signing-keys"), fields, content)
    assert deep.status in (400, 422)
