"""What a delivery is signed with: RFC 9421 by a server key, Standard Webhooks by the secrets. Pure.

The bytes that are signed are the bytes that are sent.
"""

from __future__ import annotations

import hmac
import secrets
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import http_sf
from http_sf.innerlist import ser_innerlist
from joserfc.jwk import OKPKey

from restante.egress.url import Target
from restante.identity.signatures.base import signature_base
from restante.identity.signatures.fields import Component, Offered
from restante.identity.signatures.message import Message
from restante.webhooks.secrets import key_of

TAG = "restante-webhook"
VALID_SECONDS = 300
JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Signer:
    """`kid`, `key`: a server key for webhooks. `secrets`: those that sign, the newest first."""

    kid: str
    key: OKPKey
    secrets: Sequence[str]


def signed_fields(
    target: Target, body: bytes, *, message_id: str, signer: Signer, now: datetime
) -> dict[str, str]:
    """The fields of a POST of this body. `now`: naive UTC."""
    created = int(now.replace(tzinfo=UTC).timestamp())
    fields = {
        "Content-Type": JSON,
        "Content-Digest": f"sha-256=:{b64encode(sha256(body).digest()).decode()}:",
        "webhook-id": message_id,
        "webhook-timestamp": str(created),
        "webhook-signature": standard_signature(message_id, created, body, signer.secrets),
    }
    return fields | _message_signature(target, fields, created=created, signer=signer)


def standard_signature(
    message_id: str, timestamp: int, body: bytes, secrets_: Sequence[str]
) -> str:
    """Standard Webhooks: one `v1,` signature for each secret, parted by spaces."""
    text = f"{message_id}.{timestamp}.".encode() + body
    return " ".join(
        "v1," + b64encode(hmac.digest(key_of(secret), text, sha256)).decode() for secret in secrets_
    )


def _message_signature(
    target: Target, fields: Mapping[str, str], *, created: int, signer: Signer
) -> dict[str, str]:
    message = Message(
        "POST",
        target.path,
        target.authority,
        f"https://{target.authority}",
        {name.lower(): (value,) for name, value in fields.items()},
    )
    names = [
        *("@method", "@authority", "@path"),
        *(("@query",) if message.has_query else ()),
        *("content-digest", "content-type", "webhook-id"),
    ]
    parameters: dict[str, Any] = {
        "created": created,
        "expires": created + VALID_SECONDS,
        "keyid": signer.kid,
        "nonce": secrets.token_urlsafe(16),
        "alg": "ed25519",
        "tag": TAG,
    }
    members: list[Any] = [(name, {}) for name in names]
    text = ser_innerlist((members, parameters))
    components = tuple(Component(name, {}) for name in names)
    base = signature_base(Offered(components, parameters, text, b""), message)
    signature: bytes = signer.key.get_op_key("sign").sign(base)  # type: ignore[union-attr]  # Ed25519
    return {"Signature-Input": f"sig={text}", "Signature": f"sig={http_sf.ser(signature)}"}
