"""A signer of the tests' own: it shares no code with the server or the SDK, and can sign what is wrong."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

COMPONENTS = ("@method", "@authority", "@path", "content-digest")


def b64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def b64url(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def number(value: int, length: int | None = None) -> str:
    return b64url(value.to_bytes(length or (value.bit_length() + 7) // 8))


def public_jwk(key: Any) -> dict[str, str]:
    """The JWK of a private key's public half."""
    public = key.public_key()
    if isinstance(public, ed25519.Ed25519PublicKey):
        return {"kty": "OKP", "crv": "Ed25519", "x": b64url(public.public_bytes_raw())}
    numbers = public.public_numbers()
    if isinstance(public, ec.EllipticCurvePublicKey):
        return {
            "kty": "EC",
            "crv": "P-256",
            "x": number(numbers.x, 32),
            "y": number(numbers.y, 32),
        }
    return {"kty": "RSA", "n": number(numbers.n), "e": number(numbers.e)}


def signature_of(key: Any, base: bytes) -> bytes:
    """The signature of a text by a secret or a private key, as RFC 9421 section 3.3 has it."""
    if isinstance(key, str):
        return hmac.digest(key.encode(), base, "sha256")
    if isinstance(key, ed25519.Ed25519PrivateKey):
        return key.sign(base)
    if isinstance(key, ec.EllipticCurvePrivateKey):
        r, s = decode_dss_signature(key.sign(base, ec.ECDSA(hashes.SHA256())))
        return r.to_bytes(32) + s.to_bytes(32)
    assert isinstance(key, rsa.RSAPrivateKey)
    return key.sign(base, padding.PSS(padding.MGF1(hashes.SHA512()), 64), hashes.SHA512())


@dataclass(frozen=True)
class Signer:
    """Signs with a key that the server knows by this id."""

    key_id: str
    key: Any
    authority: str

    def fields(
        self,
        method: str,
        target: str,
        body: bytes = b"",
        *,
        components: Sequence[str] | None = None,
        created: int | None = None,
        length: int = 60,
        nonce: str | None = None,
        digest: str | None = None,
        more: str = "",
        extra: dict[str, str] | None = None,
    ) -> dict[str, str]:
        """The fields that make a request signed. `components` as they are written, without quotes."""
        path, mark, query = target.partition("?")
        if components is None:
            components = (*COMPONENTS, "@query") if mark else COMPONENTS
        digest = digest or f"sha-256=:{b64(hashlib.sha256(body).digest())}:"
        values = {
            "@method": method,
            "@authority": self.authority,
            "@path": path,
            "@query": f"?{query}",
            "content-digest": digest,
            **(extra or {}),
        }
        created = int(time.time()) if created is None else created
        listed = " ".join(f'"{name}"' for name in components)
        nonce = secrets.token_urlsafe(16) if nonce is None else nonce
        parameters = (
            f"({listed});created={created};expires={created + length}"
            f";keyid={json.dumps(self.key_id)};nonce={json.dumps(nonce)}{more}"
        )
        lines = [f'"{name}": {values[name]}' for name in components if name in values]
        base = "\n".join([*lines, f'"@signature-params": {parameters}'])
        return {
            "Content-Digest": digest,
            "Signature-Input": f"sig1={parameters}",
            "Signature": f"sig1=:{b64(signature_of(self.key, base.encode()))}:",
        }
