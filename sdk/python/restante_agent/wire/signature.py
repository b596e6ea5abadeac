"""Signing a request: RFC 9421 with the contract's profile, RFC 9530 for the body. Pure."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

WINDOW_SECONDS = 120
"""How long a signature is good: enough for a slow network and a clock that is a little off."""


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A key that the server knows as `key_id`; `sign` makes the signature of a text.

    For a key of your own (registered with POST A/signing-keys), `sign` is that of an Ed25519 key,
    or gives r and s of ECDSA as 64 bytes, or RSA-PSS with SHA-512 and a salt of 64 bytes.
    """

    key_id: str
    sign: Callable[[bytes], bytes] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Pen:
    """What one request is signed with: a key, and the server's time in seconds since 1970."""

    key: SigningKey
    now: int


def hmac_key(key_id: str, secret: str) -> SigningKey:
    """A key from its secret, whose UTF-8 bytes are the key of hmac-sha256."""
    raw = secret.encode()
    return SigningKey(key_id, lambda base: hmac.digest(raw, base, "sha256"))


def signature_fields(
    pen: Pen,
    method: str,
    target: str,
    *,
    authority: str,
    content: bytes,
    nonce: str | None = None,
    window_seconds: int = WINDOW_SECONDS,
) -> Mapping[str, str]:
    """The fields that make a request signed. `target`: path and query exactly as they are sent.

    `authority`: as in the Host field, in lower case and without the scheme's default port.
    """
    path, mark, query = target.partition("?")
    digest = f"sha-256=:{_base64(hashlib.sha256(content).digest())}:"
    values = {"@method": method, "@path": path or "/"}
    if mark:
        values["@query"] = f"?{query}"
    values |= {"@authority": authority, "content-digest": digest}
    parameters = (
        f"({' '.join(_quoted(name) for name in values)})"
        f";created={pen.now};expires={pen.now + window_seconds}"
        f";nonce={_quoted(nonce or secrets.token_urlsafe(18))};keyid={_quoted(pen.key.key_id)}"
    )
    lines = [f"{_quoted(name)}: {value}" for name, value in values.items()]
    base = "\n".join([*lines, f'"@signature-params": {parameters}'])
    return {
        "content-digest": digest,
        "signature-input": f"sig1={parameters}",
        "signature": f"sig1=:{_base64(pen.key.sign(base.encode()))}:",
    }


def _quoted(text: str) -> str:
    """A structured field's string (RFC 8941, section 3.3.3)."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()
