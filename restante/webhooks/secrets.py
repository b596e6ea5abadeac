"""Secrets of callbacks: what stands for the bytes that sign (contract 5.10). Pure."""

from __future__ import annotations

import binascii
import hmac
from base64 import b64decode
from hashlib import sha256

from restante.errors import ValidationFailed

PREFIX = "whsec_"
FEWEST_BYTES = 32  # of the key, in whatever way it is written
MOST_CHARACTERS = 512


def key_of(secret: str) -> bytes:
    """The HMAC key: the base64 of what follows `whsec_`, else the UTF-8 bytes. ValueError for no base64."""
    if not secret.startswith(PREFIX):
        return secret.encode()
    try:
        return b64decode(secret.removeprefix(PREFIX), validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None


def check_secret(secret: str) -> str:
    """The secret; ValidationFailed for one that is too short, too long or no base64 where it says so."""
    if len(secret) > MOST_CHARACTERS:
        raise _wrong(f"may have {MOST_CHARACTERS} characters")
    try:
        key = key_of(secret)
    except ValueError:
        raise _wrong("begins with whsec_, and what follows is no base64") from None
    if len(key) < FEWEST_BYTES:
        stands = ", and behind whsec_ their base64" if secret.startswith(PREFIX) else ""
        raise _wrong(
            f"must stand for at least {FEWEST_BYTES} bytes, and stands for {len(key)}: take them from a "
            f"random generator{stands}"
        )
    return secret


def response_to(secret: str, challenge: str) -> str:
    """hex(HMAC-SHA256(secret, challenge)), in lower case: what a receiver answers."""
    return hmac.new(key_of(secret), challenge.encode(), sha256).hexdigest()


def _wrong(detail: str) -> ValidationFailed:
    return ValidationFailed.at("/secret", detail)
