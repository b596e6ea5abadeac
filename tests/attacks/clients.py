"""Clients with registered keys, and the assertions that they, or others, make (RFC 7523)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from restante.identity.assertions import TYPE
from restante.identity.client_keys import add_client_key
from restante.storage.ids import new_id
from tests.attacks.arena import Attacker
from tests.attacks.wire import Answer, Wire
from tests.http.signing import public_jwk
from tests.oauth.forging import encode


def signature(key: Any, message: bytes) -> bytes:
    """As JWS has it (RFC 7518, section 3; RFC 8037)."""
    if isinstance(key, ed25519.Ed25519PrivateKey):
        return key.sign(message)
    if isinstance(key, ec.EllipticCurvePrivateKey):
        r, s = decode_dss_signature(key.sign(message, ec.ECDSA(hashes.SHA256())))
        return r.to_bytes(32) + s.to_bytes(32)
    assert isinstance(key, rsa.RSAPrivateKey)
    return key.sign(message, padding.PSS(padding.MGF1(hashes.SHA512()), 64), hashes.SHA512())


def algorithm(key: Any) -> str:
    kinds = {ed25519.Ed25519PrivateKey: "EdDSA", ec.EllipticCurvePrivateKey: "ES256"}
    return next((name for kind, name in kinds.items() if isinstance(key, kind)), "PS512")


@dataclass(frozen=True)
class Keyed:
    """A client that proves itself by a key."""

    who: Attacker
    key: Any

    @property
    def token_endpoint(self) -> str:
        return f"{self.who.arena.issuer}/oauth/token"

    def assertion(self, *, header: dict[str, Any] | None = None, **claims: Any) -> str:
        """A good one, with other members where they are given; None: left out."""
        now = self.who.arena.now()
        said: dict[str, Any] = {
            "iss": self.who.id,
            "sub": self.who.id,
            "aud": self.token_endpoint,
            "jti": new_id().hex(),
            "iat": now,
            "exp": now + 60,
        } | {name: value(now) if callable(value) else value for name, value in claims.items()}
        head = {"alg": algorithm(self.key), "typ": "JWT", **(header or {})}
        return self.made(head, {name: value for name, value in said.items() if value is not None})

    def made(self, header: dict[str, Any], claims: dict[str, Any]) -> str:
        parts = [json.dumps(part).encode() for part in (header, claims)]
        message = ".".join(map(encode, parts))
        return f"{message}.{encode(signature(self.key, message.encode()))}"

    def prove(self, assertion: str | None = None, **form: str) -> Answer:
        """A token request with it."""
        return present(self.who.wire, assertion or self.assertion(), **form)


def present(wire: Wire, assertion: str, **form: str) -> Answer:
    asked = {
        "grant_type": "client_credentials",
        "client_assertion_type": TYPE,
        "client_assertion": assertion,
        **form,
    }
    return wire.form("/oauth/token", **asked)


def keyed(who: Attacker, key: Any = None) -> Keyed:
    """The client with a key of its own, registered."""
    own = key or ed25519.Ed25519PrivateKey.generate()
    who.arena.run(lambda s: add_client_key(s, who.raw, public_jwk(own)))
    return Keyed(who, own)
