"""Public keys that agents register, as JWKs (RFC 7517): read strictly, weak and published ones refused."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from restante.identity.signatures.keys import Algorithm
from restante.identity.signatures.published_keys import PUBLISHED
from restante.identity.signatures.rsa_weakness import is_weak_modulus

PRIVATE = frozenset({"d", "p", "q", "dp", "dq", "qi", "oth", "k"})
_ALGORITHMS = {
    Algorithm.ED25519: ("EdDSA", "Ed25519"),
    Algorithm.ECDSA_P256_SHA256: ("ES256",),
    Algorithm.RSA_PSS_SHA512: ("PS512",),
}
_REQUIRED = {"OKP": ("crv", "kty", "x"), "EC": ("crv", "kty", "x", "y"), "RSA": ("e", "kty", "n")}
_RSA_BITS = range(2048, 8193)
_RSA_EXPONENTS = range(65_537, 2**256, 2)
_FIELD = 2**255 - 19
_ED25519_D = -121_665 * pow(121_666, -1, _FIELD) % _FIELD
# the second coordinates of the points of order 1, 2, 4 and 8: such a key verifies for anybody
_ED25519_SMALL = frozenset(
    int.from_bytes(bytes.fromhex(text), "little")
    for text in (
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    )
) | {0, 1, _FIELD - 1}

PublicKey = ed25519.Ed25519PublicKey | ec.EllipticCurvePublicKey | rsa.RSAPublicKey


class KeyRefused(Exception):
    """Why a JWK is not taken, as a sentence about it."""


def read_public_key(jwk: Mapping[str, Any]) -> tuple[Algorithm, PublicKey]:
    """The key of a JWK that may be registered, and what it is for. Raises KeyRefused."""
    algorithm, key = key_of(jwk)
    if PRIVATE & jwk.keys():
        raise KeyRefused("holds a private key, which nobody else should have seen: make a new one")
    if jwk.get("use", "sig") != "sig" or "verify" not in (jwk.get("key_ops") or ["verify"]):
        raise KeyRefused("is not for signatures, by its `use` or `key_ops`")
    if jwk.get("alg") not in (None, *_ALGORITHMS[algorithm]):
        raise KeyRefused(f"is for another algorithm than {algorithm}, by its `alg`")
    if thumbprint(jwk) in PUBLISHED or _is_guessable(key):
        raise KeyRefused("is a published test key: anybody can sign with it")
    if isinstance(key, rsa.RSAPublicKey):
        _check_rsa(key)
    return algorithm, key


def key_of(jwk: Mapping[str, Any]) -> tuple[Algorithm, PublicKey]:
    """The key of a JWK, on its curve, and what it is for. Raises KeyRefused."""
    try:
        match jwk.get("kty"), jwk.get("crv"):
            case "OKP", "Ed25519":
                return Algorithm.ED25519, _ed25519(_bytes(jwk, "x", 32))
            case "EC", "P-256":
                x, y = (int.from_bytes(_bytes(jwk, name, 32)) for name in ("x", "y"))
                numbers = ec.EllipticCurvePublicNumbers(x, y, ec.SECP256R1())
                return Algorithm.ECDSA_P256_SHA256, numbers.public_key()
            case "RSA", _:
                e, n = (int.from_bytes(_bytes(jwk, name)) for name in ("e", "n"))
                if n.bit_length() not in _RSA_BITS:
                    raise KeyRefused("must have 2048 to 8192 bits")
                return Algorithm.RSA_PSS_SHA512, rsa.RSAPublicNumbers(e, n).public_key()
    except (ValueError, OverflowError):
        raise KeyRefused("is no valid key") from None
    raise KeyRefused("must be an Ed25519, P-256 or RSA public key")


def thumbprint(jwk: Mapping[str, Any]) -> str:
    """RFC 7638, with SHA-256."""
    members = {name: jwk[name] for name in _REQUIRED[jwk["kty"]]}
    digest = hashlib.sha256(json.dumps(members, separators=(",", ":"), sort_keys=True).encode())
    return base64.urlsafe_b64encode(digest.digest()).rstrip(b"=").decode()


def canonical(jwk: Mapping[str, Any]) -> dict[str, str]:
    """The members that are the key, and nothing else."""
    return {name: jwk[name] for name in _REQUIRED[jwk["kty"]]}


def _ed25519(raw: bytes) -> ed25519.Ed25519PublicKey:
    y = int.from_bytes(raw, "little") & (2**255 - 1)
    # x² of the curve's equation has to be a square (RFC 8032, section 5.1.3)
    above, below = y * y - 1, _ED25519_D * y * y + 1
    if y >= _FIELD or pow(above * below, (_FIELD - 1) // 2, _FIELD) == _FIELD - 1:
        raise KeyRefused("is no point of its curve")
    if y in _ED25519_SMALL:
        raise KeyRefused("is weak: it verifies signatures that nobody made")
    return ed25519.Ed25519PublicKey.from_public_bytes(raw)


def _check_rsa(key: rsa.RSAPublicKey) -> None:
    numbers = key.public_numbers()
    if numbers.e not in _RSA_EXPONENTS:
        raise KeyRefused("must have an odd exponent of at least 65537")
    if is_weak_modulus(numbers.n):
        raise KeyRefused("is weak: its modulus can be factored")


def _is_guessable(key: PublicKey) -> bool:
    """Whether its private half is the first that anybody would try."""
    if isinstance(key, ed25519.Ed25519PublicKey):
        return key.public_bytes_raw() in _guessable_ed25519()
    if isinstance(key, ec.EllipticCurvePublicKey):
        return key.public_numbers().x in _guessable_p256()
    return False


@cache
def _guessable_ed25519() -> frozenset[bytes]:
    seeds = [bytes([byte]) * 32 for byte in range(256)]
    seeds += [bytes(range(start, start + 32)) for start in (0, 1)]
    seeds += [number.to_bytes(32, order) for number in range(256) for order in ("big", "little")]
    private = ed25519.Ed25519PrivateKey.from_private_bytes
    return frozenset(private(seed).public_key().public_bytes_raw() for seed in seeds)


@cache
def _guessable_p256() -> frozenset[int]:
    scalars = [*range(1, 257), *(int.from_bytes(bytes([byte]) * 32) for byte in range(1, 255))]
    derive = ec.derive_private_key
    keys = (derive(scalar, ec.SECP256R1()).public_key() for scalar in scalars)
    return frozenset(key.public_numbers().x for key in keys)


def _bytes(jwk: Mapping[str, Any], name: str, length: int | None = None) -> bytes:
    """A member's bytes, in the one spelling that base64url has for them."""
    text = jwk.get(name)
    if not isinstance(text, str):
        raise KeyRefused(f"lacks the member `{name}`")
    try:
        raw = base64.urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
    except (ValueError, binascii.Error):
        raise KeyRefused(f"has no base64url in `{name}`") from None
    if base64.urlsafe_b64encode(raw).rstrip(b"=").decode() != text or len(raw) != (
        length or len(raw)
    ):
        raise KeyRefused(f"has not the right bytes in `{name}`")
    return raw
