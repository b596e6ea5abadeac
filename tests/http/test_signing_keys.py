"""Making, registering, listing and ending the keys that requests are signed with."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from restante.audit.listing import list_entries
from tests.http.signing import number, public_jwk
from tests.http.world import Caller, World, verbs
from tests.vectors import rfc9421 as vectors

KEYS: dict[str, Callable[[], Any]] = {
    "ed25519": ed25519.Ed25519PrivateKey.generate,
    "ecdsa-p256-sha256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "rsa-pss-sha512": lambda: rsa.generate_private_key(65_537, 2048),
}
P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


def told(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json["type"].rpartition("/")[2]


def test_a_minted_key_lives_a_day_and_its_secret_is_told_once(alice: Caller) -> None:
    made = alice.post("A/signing-keys")
    assert made.status_code == 201, made.text
    assert made.json.keys() == {"key_id", "algorithm", "secret", "expires_at"}
    assert made.json["algorithm"] == "hmac-sha256"
    assert len(made.json["secret"]) >= 43
    assert made.headers["Cache-Control"] == "no-store"
    (listed,) = alice.get("A/signing-keys").json["keys"]
    assert listed["key_id"] == made.json["key_id"]
    assert listed["public_jwk"] is None
    assert made.json["secret"] not in alice.get("A/signing-keys").text
    begins, ends = (datetime.fromisoformat(listed[name]) for name in ("created_at", "expires_at"))
    assert (ends - begins).total_seconds() == 86_400


@pytest.mark.parametrize("algorithm", KEYS)
def test_a_key_of_ones_own_is_registered_until_it_is_ended(alice: Caller, algorithm: str) -> None:
    jwk = public_jwk(KEYS[algorithm]())
    made = alice.post("A/signing-keys", {"public_jwk": {**jwk, "kid": "mine", "use": "sig"}})
    assert made.status_code == 201, made.text
    assert made.json == {
        "key_id": made.json["key_id"],
        "algorithm": algorithm,
        "expires_at": None,
    }
    (listed,) = alice.get("A/signing-keys").json["keys"]
    assert listed["public_jwk"] == jwk

    ended = alice.call("DELETE", f"A/signing-keys/{made.json['key_id']}")
    assert ended.status_code == 200
    assert alice.get("A/signing-keys").json["keys"] == []
    again = alice.call("DELETE", f"A/signing-keys/{made.json['key_id']}")
    assert again.json == ended.json


def test_a_token_of_more_than_a_minute_makes_no_key(world: World, alice: Caller) -> None:
    world.house.authority._monotonic = lambda: 0.0
    world.pass_time(59)
    assert alice.post("A/signing-keys", {}).status_code == 201
    world.house.authority._monotonic = lambda: 10.0
    world.pass_time(2)
    assert told(alice.post("A/signing-keys", {})) == (403, "token-too-old")
    jwk = public_jwk(KEYS["ed25519"]())
    refused = alice.post("A/signing-keys", {"public_jwk": jwk})
    assert told(refused) == (403, "token-too-old")


def test_a_fifth_live_key_is_one_too_many(world: World, alice: Caller, bob: Caller) -> None:
    made = [alice.post("A/signing-keys", {}).json["key_id"] for _ in range(4)]
    assert told(alice.post("A/signing-keys", {})) == (409, "too-many-keys")
    jwk = public_jwk(KEYS["ed25519"]())
    assert told(alice.post("A/signing-keys", {"public_jwk": jwk})) == (409, "too-many-keys")
    assert bob.post("A/signing-keys", {}).status_code == 201
    assert alice.call("DELETE", f"A/signing-keys/{made[0]}").status_code == 200
    assert alice.post("A/signing-keys", {}).status_code == 201
    # and those whose day is over make room
    world.pass_time(86_401)
    world.house.authority._monotonic = lambda: 1e6
    fresh = world.narrowed(alice, verbs("main"))
    assert fresh.post("A/signing-keys", {}).status_code == 201
    assert len(fresh.get("A/signing-keys").json["keys"]) == 1


def test_no_idempotency_key_where_the_answer_is_a_secret(alice: Caller) -> None:
    answer = alice.post("A/signing-keys", {}, headers={"Idempotency-Key": "once"})
    assert told(answer) == (422, "validation-error")
    assert answer.json["errors"][0]["pointer"] == "Idempotency-Key"
    assert alice.get("A/signing-keys").json["keys"] == []


def test_keys_are_their_agents_own(world: World, alice: Caller, bob: Caller, ci: Caller) -> None:
    key_id = alice.post("A/signing-keys", {}).json["key_id"]
    world.tenant("rival", "main")
    rival = world.agent("rival", "alice", verbs("main"))
    for other in (bob, rival):
        for name in (key_id, "key_" + "0" * 32, "nonsense"):
            answer = other.call("DELETE", f"A/signing-keys/{name}")
            assert told(answer) == (404, "not-found")
        assert other.get(f"/api/v1/agents/{alice.id}/signing-keys").status_code == 404
    assert ci.post(f"/api/v1/agents/{ci.id}/signing-keys", {}).status_code == 404
    assert len(alice.get("A/signing-keys").json["keys"]) == 1


def jwk_of(x: bytes) -> dict[str, str]:
    return public_jwk(ed25519.Ed25519PrivateKey.from_private_bytes(x))


SMALL_RSA = public_jwk(rsa.generate_private_key(65_537, 1024))  # noqa: S505 - that is the point
GOOD_RSA = public_jwk(rsa.generate_private_key(65_537, 2048))
GOOD = public_jwk(ed25519.Ed25519PrivateKey.generate())
POINT = public_jwk(ec.generate_private_key(ec.SECP256R1()))
REFUSED: dict[str, dict[str, Any]] = {
    "no members": {},
    "symmetric": {"kty": "oct", "k": "c2VjcmV0"},
    "another curve": {**POINT, "crv": "P-384"},
    "short x": {**GOOD, "x": GOOD["x"][:-2]},
    "another spelling": {**GOOD, "x": GOOD["x"] + "="},
    "x is a number": {**GOOD, "x": 7},
    "private": {**GOOD, "d": GOOD["x"]},
    "for encryption": {**GOOD, "use": "enc"},
    "for signing only": {**GOOD, "key_ops": ["sign"]},
    "another algorithm": {**GOOD_RSA, "alg": "RS256"},
    "off the curve": {**POINT, "y": number(int.from_bytes(b"\1" * 32), 32)},
    "1024 bits": SMALL_RSA,
    "8200 bits": {**GOOD_RSA, "n": number(2**8199 + 1)},
    "exponent 3": {**GOOD_RSA, "e": "Aw"},
    "even exponent": {**GOOD_RSA, "e": number(65_538)},
    "a small factor": {**GOOD_RSA, "n": number(3 * (2**2047 + 9))},
    "close factors": {**GOOD_RSA, "n": number((2**1024 + 643) * (2**1024 + 645))},
    "order 1": {"kty": "OKP", "crv": "Ed25519", "x": number(1 << 248, 32)},
    "order 4": {"kty": "OKP", "crv": "Ed25519", "x": number(0, 32)},
    "not below the field": {"kty": "OKP", "crv": "Ed25519", "x": number(2**256 - 1, 32)},
    "no point": {"kty": "OKP", "crv": "Ed25519", "x": number(2 << 248, 32)},
    "seed of zeros": jwk_of(bytes(32)),
    "seed that counts": jwk_of(bytes(range(32))),
    "private key one": public_jwk(ec.derive_private_key(1, ec.SECP256R1())),
    "private key minus one": public_jwk(ec.derive_private_key(P256_ORDER - 1, ec.SECP256R1())),
    **{f"published {key['keyid']}": key["public_jwk"] for key in vectors.DATA["profile_keys"]},
    **{
        f"published {name}": {m: v for m, v in key["private_jwk"].items() if m in "ktycrvxyne"}
        for name, key in vectors.DATA["keys"].items()
        if "private_jwk" in key
    },
}


@pytest.mark.parametrize("why", REFUSED)
def test_weak_published_and_broken_keys_are_422(alice: Caller, why: str) -> None:
    answer = alice.post("A/signing-keys", {"public_jwk": REFUSED[why]})
    assert told(answer) == (422, "validation-error")
    assert answer.json["errors"][0]["pointer"] == "/public_jwk"
    assert alice.get("A/signing-keys").json["keys"] == []


def test_making_and_ending_a_key_is_in_the_audit(world: World, alice: Caller) -> None:
    key_id = alice.post("A/signing-keys", {}).json["key_id"]
    for _ in range(2):
        alice.call("DELETE", f"A/signing-keys/{key_id}")
    page = world.house.database.run(
        lambda s: list_entries(s, world.tenants["acme"], limit=10, target=key_id)
    )
    found = [(entry.action, entry.actor_id) for entry in page.entries]
    assert sorted(found) == [
        ("signing_key.create", alice.id),
        ("signing_key.revoke", alice.id),
    ]
