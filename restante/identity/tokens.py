"""Access tokens: JWTs as RFC 9068 profiles them, made and read here and nowhere else.

Pure: the caller brings the keys and the time. Strict, since this server is their only maker: one
algorithm per key, exactly the header members written here, canonical base64url, no member twice.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from joserfc import jws
from joserfc._rfc7515.model import JWSAlgModel
from joserfc.errors import JoseError, UnsupportedAlgorithmError
from joserfc.jwk import OKPKey

from restante.errors import Unauthenticated
from restante.identity.principal import PrincipalKind
from restante.identity.scopes import Scope, parse_scope
from restante.identity.strict_jwt import decoded, json_object
from restante.storage.ids import Prefix, decode_id, encode_id, new_id

ALGORITHM = "EdDSA"  # RFC 8037: Ed25519
LIFETIME_SECONDS = 600
LEEWAY_SECONDS = 5
"""How far `iat` may lie ahead. `exp` has none: the clock it is compared with is the one that made it."""
_TYPES = ("at+jwt", "application/at+jwt")  # RFC 9068, section 4
EXPIRED = "expired"
"""Why a token is refused that simply is over, as every token is in the end."""
_LONGEST = 16 * 1024
_SIGNATURE_BYTES = 64


class UnknownKey(Unauthenticated):
    """No valid access token came: one lives ten minutes, and /oauth/token gives the next."""


class _OneAlgorithm(jws.JWSRegistry):
    """EdDSA and nothing else; RFC 9864 prefers the name Ed25519, which few verifiers know yet."""

    def get_alg(self, name: str) -> JWSAlgModel:
        if name != ALGORITHM:
            raise UnsupportedAlgorithmError(f"Algorithm of '{name}' is not supported")
        return self.algorithms[name]


_REGISTRY = _OneAlgorithm()


@dataclass(frozen=True, slots=True)
class Claims:
    """What a token says, verified. Instants are seconds since 1970."""

    token_id: str
    kid: str
    principal_id: bytes
    kind: PrincipalKind
    credential_id: bytes
    scopes: frozenset[Scope]
    issued_at: int
    expires_at: int

    @property
    def public_id(self) -> str:
        """`agt_…` or `svc_…`: whose token it is."""
        prefix = Prefix.AGENT if self.kind is PrincipalKind.AGENT else Prefix.SERVICE
        return encode_id(prefix, self.principal_id)


def sign(claims: Claims, *, issuer: str, client_id: str, key: OKPKey) -> str:
    """The token that says it. `client_id` is the principal's public id, which is its `sub` as well."""
    header = {"alg": ALGORITHM, "typ": _TYPES[0], "kid": claims.kid}
    payload = {
        "iss": issuer,
        "aud": issuer,
        "sub": client_id,
        "client_id": client_id,
        "jti": claims.token_id,
        "iat": claims.issued_at,
        "exp": claims.expires_at,
        "scope": " ".join(sorted(map(str, claims.scopes))),
        # so that a token dies with the credential it was got with
        "credential": encode_id(Prefix.KEY, claims.credential_id),
    }
    content = json.dumps(payload, separators=(",", ":")).encode()
    return jws.serialize_compact(header, content, key, registry=_REGISTRY)


def verify(token: str, *, issuer: str, keys: Mapping[str, OKPKey], now: float) -> Claims:
    """What the token says; Unauthenticated where anything about it does not hold."""
    try:
        kid, payload = _opened(token, keys)
        claims = _claims(kid, payload, issuer)
    except (ValueError, TypeError, KeyError, RecursionError, JoseError) as error:
        # a ValueError of ours says what of it; those of libraries may repeat what was sent
        why = str(error) if type(error) is ValueError else type(error).__name__
        raise Unauthenticated(why, presented=True) from None
    check_time(claims, now)
    return claims


def check_time(claims: Claims, now: float) -> None:
    """Unauthenticated where the token is over or not yet made at this time."""
    if claims.expires_at <= now:
        raise Unauthenticated(EXPIRED, presented=True)
    if claims.issued_at > now + LEEWAY_SECONDS:
        raise Unauthenticated("issued_later", presented=True)


def new_token_id() -> str:
    """A `jti`."""
    return new_id().hex()


def _opened(token: str, keys: Mapping[str, OKPKey]) -> tuple[str, dict[str, Any]]:
    """The key id and payload of a token with a good signature."""
    if len(token) > _LONGEST:
        raise ValueError("too long")
    head, _body, signature = token.split(".")
    header = json_object(decoded(head))
    if set(header) != {"alg", "typ", "kid"}:
        raise ValueError("header")
    kid = _text(header["kid"])
    if kid not in keys:
        raise UnknownKey("unknown_key", presented=True)
    if _text(header["typ"]).lower() not in _TYPES or header["alg"] != ALGORITHM:
        raise ValueError("typ or alg")
    if len(decoded(signature)) != _SIGNATURE_BYTES:
        raise ValueError("signature")
    opened = jws.deserialize_compact(token, keys[kid], registry=_REGISTRY)
    return kid, json_object(opened.payload)


def _claims(kid: str, payload: dict[str, Any], issuer: str) -> Claims:
    audience = payload["aud"]
    if payload["iss"] != issuer or issuer not in (
        audience if isinstance(audience, list) else [audience]
    ):
        raise ValueError("iss or aud")
    subject = _text(payload["sub"])
    if payload["client_id"] != subject:
        raise ValueError("client_id")
    kind = PrincipalKind.AGENT if subject.startswith(f"{Prefix.AGENT}_") else PrincipalKind.SERVICE
    prefix = Prefix.AGENT if kind is PrincipalKind.AGENT else Prefix.SERVICE
    issued_at, expires_at = _seconds(payload["iat"]), _seconds(payload["exp"])
    not_before = _seconds(payload.get("nbf", issued_at))
    if not not_before <= issued_at < expires_at <= issued_at + LIFETIME_SECONDS:
        raise ValueError("lifetime")
    # a scope that means nothing (any more) gives nothing
    scopes = (parse_scope(text) for text in _text(payload["scope"]).split(" "))
    return Claims(
        token_id=_text(payload["jti"]),
        kid=kid,
        principal_id=_id(prefix, subject),
        kind=kind,
        credential_id=_id(Prefix.KEY, _text(payload["credential"])),
        scopes=frozenset(scope for scope in scopes if scope is not None),
        issued_at=issued_at,
        expires_at=expires_at,
    )


def _text(found: object) -> str:
    if not isinstance(found, str) or not found:
        raise TypeError("not a string")
    return found


def _seconds(found: object) -> int:
    if isinstance(found, bool) or not isinstance(found, int) or not 0 < found < 2**40:
        raise TypeError("not an instant")
    return found


def _id(prefix: Prefix, text: str) -> bytes:
    raw = decode_id(prefix, text)
    if raw is None:
        raise ValueError("not an id")
    return raw
