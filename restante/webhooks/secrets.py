"""Secrets of callbacks: what stands for the bytes that sign (contract 5.10). Pure."""

from __future__ import annotations

import binascii
import hmac
from base64 import b64decode
from hashlib import sha256

from restante.errors import ValidationFailed

PREFIX = "whsec_"
FEWEST_BYTES = 32
FEWEST_KEY_BYTES = 24  # of a whsec_ secret, as Standard Webhooks says
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
    if len(secret.encode()) < FEWEST_BYTES:
        raise _wrong(f"must have at least {FEWEST_BYTES} bytes: take some from a random generator")
    try:
        key = key_of(secret)
    except ValueError:
        raise _wrong("begins with whsec_, and what follows is no base64") from None
    if secret.startswith(PREFIX) and len(key) < FEWEST_KEY_BYTES:
        raise _wrong(f"begins with whsec_, and stands for less than {FEWEST_KEY_BYTES} bytes")
    return secret


def response_to(secret: str, challenge: str) -> str:
    """hex(HMAC-SHA256(secret, challenge)), in lower case: what a receiver answers."""
    return hmac.new(key_of(secret), challenge.encode(), sha256).hexdigest()


def _wrong(detail: str) -> ValidationFailed:
    return ValidationFailed.at("/secret", detail)
