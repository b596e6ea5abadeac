"""HTTP Basic credentials of a client (RFC 6749, section 2.3.1)."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from urllib.parse import unquote_plus


@dataclass(frozen=True, slots=True)
class Basic:
    """A client_id and its secret, as sent."""

    client_id: str
    client_secret: str = field(repr=False)


def read_basic(authorization: str) -> Basic | None:
    """The credentials of an Authorization field; None where it holds none that can be read."""
    scheme, _, encoded = authorization.strip().partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        text = base64.b64decode(encoded.strip(), validate=True).decode("utf-8")
        client_id, colon, secret = text.partition(":")
        # both are form-encoded before they are joined; ours hold nothing that this would change
        named = Basic(
            unquote_plus(client_id, errors="strict"), unquote_plus(secret, errors="strict")
        )
    except (binascii.Error, ValueError):
        return None
    return named if colon and named.client_id and named.client_secret else None
