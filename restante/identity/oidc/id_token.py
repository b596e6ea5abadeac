"""ID tokens (OpenID Connect Core, section 3.1.3.7), read strictly. Pure.

The keys are those that the provider publishes and nothing else: what a header says of keys (`jwk`,
`jku`, `x5u`, `x5c`) is not looked at. The algorithm is one of an asymmetric list and has to fit the
key's kind, so that neither `none` nor a secret made of a public key will do.
"""

from __future__ import annotations

import hashlib
import hmac
import math
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import JWKRegistry

from restante.errors import RestanteError
from restante.identity.strict_jwt import decoded, json_object

SKEW_SECONDS = 30
"""How far the provider's clock may be from ours."""
OLDEST_SECONDS = 600
"""How long before it was handed over it may have been made."""
_LONGEST = 64 * 1024
_SUBJECT_CHARACTERS = 255
_MOST_KEYS = 64
_LEAST_RSA_BYTES = 256
_RSA = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
ALGORITHMS: Mapping[str, tuple[str, str | None]] = {
    **dict.fromkeys(_RSA, ("RSA", None)),
    "ES256": ("EC", "P-256"),
    "ES384": ("EC", "P-384"),
    "ES512": ("EC", "P-521"),
    "EdDSA": ("OKP", "Ed25519"),
    "Ed25519": ("OKP", "Ed25519"),
}
"""Those taken, each with the kind and curve of its keys."""
_HALVES = {"256": "sha256", "384": "sha384", "512": "sha512"}
_FAULTS = (ValueError, TypeError, KeyError, RecursionError, OverflowError, JoseError)


class TokenRefused(RestanteError):
    """The identity provider's token does not hold. `note`: what about it, for the log and the audit."""

    def __init__(self, note: str) -> None:
        super().__init__()
        self.note = note


class UnknownKey(TokenRefused):
    """It is signed with a key that is not among those known."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What a token has to say. `now` in seconds since 1970; `nonce_hash`: SHA-256 of the nonce."""

    issuer: str
    client_id: str
    nonce_hash: bytes
    now: float
    access_token: str | None = None


def verify_id_token(
    token: str,
    keys: Sequence[Mapping[str, Any]],
    expected: Expected,
    *,
    algorithms: frozenset[str] | None = None,
) -> Mapping[str, Any]:
    """Its claims; TokenRefused where anything does not hold, UnknownKey where no key is known.

    `algorithms`: those that the provider says it uses, if it says so.
    """
    header = _header(token)
    algorithm = header.get("alg")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        raise TokenRefused(f"it is signed by {algorithm!r}, which is not taken")
    if algorithms is not None and algorithm not in algorithms:
        raise TokenRefused(f"it is signed by {algorithm}, which the provider says it does not use")
    key = _key(header.get("kid"), algorithm, keys)
    try:
        opened = jws.deserialize_compact(token, key, algorithms=[algorithm])
        claims = json_object(opened.payload)
    except _FAULTS as error:
        raise TokenRefused(f"its signature does not hold: {type(error).__name__}") from None
    _check(claims, expected)
    _check_access_token(claims, expected, algorithm)
    return claims


def instant(claims: Mapping[str, Any], name: str) -> float:
    """A claim that is an instant, in seconds since 1970; TokenRefused where it is none."""
    found = claims.get(name)
    if isinstance(found, bool) or not isinstance(found, int | float) or not math.isfinite(found):
        raise TokenRefused(f"{name} is no instant")
    return float(found)


def _header(token: str) -> Mapping[str, Any]:
    if len(token) > _LONGEST:
        raise TokenRefused("it is too long")
    try:
        head, body, signature = token.split(".")
        decoded(body), decoded(signature)
        header = json_object(decoded(head))
        kind = header.get("typ", "JWT")
        if "crit" in header or kind.lower() != "jwt":
            raise TokenRefused("it is no ID token by its header")
    except (*_FAULTS, AttributeError):
        raise TokenRefused("it cannot be read") from None
    return header


def _key(kid: object, algorithm: str, keys: Sequence[Mapping[str, Any]]) -> Any:
    """The one key that may have signed it. Without `kid`: the only one there is of its kind."""
    kind, curve = ALGORITHMS[algorithm]
    fitting = [
        key
        for key in keys[:_MOST_KEYS]
        if key.get("kty") == kind
        and key.get("crv") == curve
        and key.get("use", "sig") == "sig"
        and key.get("alg", algorithm) == algorithm
        and kid in (None, key.get("kid"))
    ]
    if len(fitting) != 1:
        raise UnknownKey(f"{len(fitting)} of the provider's keys fit it")
    members = ("kty", "crv", "n", "e", "x", "y")  # nothing of a private key, nor of its uses
    try:
        public = {name: fitting[0][name] for name in members if name in fitting[0]}
        if kind == "RSA" and len(decoded(public["n"]).lstrip(b"\0")) < _LEAST_RSA_BYTES:
            raise TokenRefused("the provider's key is shorter than 2048 bits")
        return JWKRegistry.import_key(public)
    except (*_FAULTS, AttributeError):
        raise TokenRefused("the provider's key cannot be read") from None


def _check(claims: Mapping[str, Any], expected: Expected) -> None:
    if claims.get("iss") != expected.issuer:
        raise TokenRefused("iss is another")
    audience = claims.get("aud")
    named = audience if isinstance(audience, list) else [audience]
    if expected.client_id not in named:
        raise TokenRefused("aud is another")
    party = claims.get("azp")
    if party != expected.client_id and (party is not None or len(named) > 1):
        raise TokenRefused("azp is another or missing")
    subject = claims.get("sub")
    if not isinstance(subject, str) or not 0 < len(subject) <= _SUBJECT_CHARACTERS:
        raise TokenRefused("sub is missing or too long")
    nonce = claims.get("nonce")
    if not isinstance(nonce, str) or not hmac.compare_digest(_sha256(nonce), expected.nonce_hash):
        raise TokenRefused("nonce is another or missing")
    now, issued = expected.now, instant(claims, "iat")
    if instant(claims, "exp") <= now - SKEW_SECONDS:
        raise TokenRefused("it has expired")
    if not now - OLDEST_SECONDS - SKEW_SECONDS <= issued <= now + SKEW_SECONDS:
        raise TokenRefused("it was made too long ago, or later than now")
    if "nbf" in claims and instant(claims, "nbf") > now + SKEW_SECONDS:
        raise TokenRefused("it is not good yet")


def _check_access_token(claims: Mapping[str, Any], expected: Expected, algorithm: str) -> None:
    """at_hash (section 3.1.3.6), where there is one; for EdDSA it is not defined."""
    told, hashed = claims.get("at_hash"), _HALVES.get(algorithm[-3:])
    if told is None or hashed is None or expected.access_token is None:
        return
    digest = hashlib.new(hashed, expected.access_token.encode("utf-8", "surrogatepass")).digest()
    half = urlsafe_b64encode(digest[: len(digest) // 2]).rstrip(b"=")
    if not isinstance(told, str) or not hmac.compare_digest(told.encode(), half):
        raise TokenRefused("at_hash is of another access token")


def _sha256(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
