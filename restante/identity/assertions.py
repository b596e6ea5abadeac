"""Client assertions (RFC 7523, section 3): a client proves who it is with a key it has registered.

The algorithm is that of the registered key; what a header says of keys (`jwk`, `jku`, `x5u`, `x5c`) is
not looked at. The size is bounded before anything is parsed. A `jti` is good once, over all nodes.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from sqlalchemy import insert
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from restante.identity.credentials import Client, live_credentials, named_client
from restante.identity.signatures.keys import Algorithm
from restante.identity.signatures.public_keys import PublicKey, key_of, thumbprint
from restante.identity.strict_jwt import decoded, json_object
from restante.identity.verifying import verify_signature
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, encode_id
from restante.storage.tables.logins import used_assertion

PUBLIC_JWK = "public_jwk"
TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
ALGORITHMS: Mapping[Algorithm, str] = {
    Algorithm.ED25519: "EdDSA",
    Algorithm.ECDSA_P256_SHA256: "ES256",
    Algorithm.RSA_PSS_SHA512: "PS512",
}
MOST_LIFE_SECONDS = 300
SKEW_SECONDS = 30
"""How far a client's clock may be ahead of ours, or its instants behind."""
_LONGEST = 8 * 1024
_LONGEST_JTI = 256
_TYPES = ("jwt", "client-authentication+jwt")
_FAULTS = (ValueError, TypeError, KeyError, RecursionError, OverflowError, InvalidSignature)


@dataclass(frozen=True, slots=True)
class _Read:
    header: Mapping[str, Any]
    claims: Mapping[str, Any]
    signed: bytes
    signature: bytes


def claimed_client(assertion: str) -> str | None:
    """Whose an assertion says it is, unproven; None where it cannot be read."""
    read = _read(assertion)
    named = None if read is None else read.claims.get("sub")
    return named if isinstance(named, str) and len(named) <= 64 else None


def authenticate_by_assertion(
    session: Session, assertion: str, *, audiences: Collection[str]
) -> Client | None:
    """The active client whose registered key made the assertion, for the first time; else None."""
    read = _read(assertion)
    if read is None:
        return None
    named = read.claims.get("sub")
    kind, raw = named_client(named if isinstance(named, str) else "")
    rows = live_credentials(session, kind, raw, of_kind=PUBLIC_JWK)
    now = database_now(session)
    made_by = _made_by(read, rows)
    if made_by is None:
        return None
    until = _expiry(read.claims, audiences, now.replace(tzinfo=UTC).timestamp())
    if until is None or not _first_use(session, raw, read.claims["jti"], until=until):
        return None
    return Client(made_by.principal_id, made_by.tenant_id, kind, made_by.credential_id)


def _read(assertion: str) -> _Read | None:
    """Its parts, in their one spelling; None where it is no JWS of a client."""
    if len(assertion) > _LONGEST:
        return None
    try:
        head, body, signature = assertion.split(".")
        header, claims = json_object(decoded(head)), json_object(decoded(body))
        kind = header.get("typ", "JWT")
        if "crit" in header or "zip" in header or kind.lower() not in _TYPES:
            return None
        return _Read(header, claims, f"{head}.{body}".encode("ascii"), decoded(signature))
    except (*_FAULTS, AttributeError):
        return None


def _made_by(read: _Read, rows: Sequence[Any]) -> Any:
    """The credential whose key signed it; None of none.

    Where no key is to be tried one of nobody's is, so that time does not tell whether the client is there.
    """
    kid, tried = read.header.get("kid"), 0
    for row in rows:
        jwk = json.loads(row.public_jwk)
        names = (thumbprint(jwk), encode_id(Prefix.KEY, row.credential_id), jwk.get("kid"))
        algorithm, key = key_of(jwk)
        if read.header.get("alg") != ALGORITHMS[algorithm] or kid not in (None, *names):
            continue
        tried += 1
        if _verifies(key, read):
            return row
    if not tried and (nobodys := _nobodys_keys().get(str(read.header.get("alg")))) is not None:
        _verifies(nobodys, read)
    return None


def _verifies(key: PublicKey, read: _Read) -> bool:
    try:
        verify_signature(key, read.signature, read.signed)
    except _FAULTS:
        return False
    return True


@cache
def _nobodys_keys() -> Mapping[str, PublicKey]:
    """By algorithm; nobody has their private halves, and what they verify is not looked at."""
    return {
        "EdDSA": ed25519.Ed25519PrivateKey.generate().public_key(),
        "ES256": ec.generate_private_key(ec.SECP256R1()).public_key(),
        "PS512": rsa.RSAPublicNumbers(65_537, 2**2047 + 1).public_key(),
    }


def _expiry(claims: Mapping[str, Any], audiences: Collection[str], now: float) -> float | None:
    """Until when it would be good; None where anything it says does not hold now."""
    try:
        expires = _instant(claims["exp"])
        issued = _instant(claims.get("iat", now))
        begins = _instant(claims.get("nbf", now))
        audience = claims["aud"]
        named = audience if isinstance(audience, list) else [audience]
        jti = claims["jti"]
        holds = (
            claims["iss"] == claims["sub"]
            and bool(named)
            and all(isinstance(one, str) and one in audiences for one in named)
            and isinstance(jti, str)
            and 0 < len(jti) <= _LONGEST_JTI
            and now < expires <= now + MOST_LIFE_SECONDS + SKEW_SECONDS
            and now - MOST_LIFE_SECONDS - SKEW_SECONDS <= issued <= now + SKEW_SECONDS
            # both by the client's clock: no skew between them
            and issued < expires <= issued + MOST_LIFE_SECONDS
            and begins <= now + SKEW_SECONDS
        )
    except _FAULTS:
        return None
    return expires if holds else None


def _instant(found: object) -> float:
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise TypeError("not an instant")
    if not math.isfinite(found) or not 0 < found < 2**40:
        raise ValueError("not an instant")
    return float(found)


def _first_use(session: Session, principal_id: bytes, jti: str, *, until: float) -> bool:
    try:
        session.connection().execute(
            insert(used_assertion).values(
                principal_id=principal_id,
                jti_hash=hashlib.sha256(jti.encode("utf-8", "surrogatepass")).digest(),
                expires_at=datetime.fromtimestamp(until, UTC).replace(tzinfo=None)
                + timedelta(seconds=SKEW_SECONDS),
            )
        )
    except IntegrityError:
        return False
    return True
