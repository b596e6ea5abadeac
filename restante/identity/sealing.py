"""Sealing: what the database keeps and must not be able to read (AES-256-GCM, key by HKDF-SHA256)."""

from __future__ import annotations

import os
from collections.abc import Sequence

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from restante.errors import RestanteError

_VERSION = b"\x01"
_NONCE_BYTES = 12


class SealBroken(RestanteError):
    """Sealed with another RESTANTE_SECRET_KEY: set that one, or as RESTANTE_SECRET_KEY_PREVIOUS."""


class Sealer:
    """Seals for one purpose with the first secret key; opens with any of them.

    Format: a version byte, 12 bytes of nonce, the ciphertext with its tag. `context` (what the box
    belongs to, such as a key id) is authenticated, so that boxes cannot be exchanged for one another.
    """

    def __init__(self, secret_keys: Sequence[str], purpose: str) -> None:
        if not secret_keys:
            raise ValueError("sealing needs a secret key")
        self._ciphers = [AESGCM(derive(key, purpose)) for key in secret_keys]

    def seal(self, content: bytes, context: str) -> bytes:
        """The content, sealed."""
        nonce = os.urandom(_NONCE_BYTES)
        return _VERSION + nonce + self._ciphers[0].encrypt(nonce, content, context.encode())

    def open(self, box: bytes, context: str) -> bytes:
        """The content of a box; SealBroken where no key opens it."""
        return self._opened(box, context)[1]

    def resealed(self, box: bytes, context: str) -> bytes | None:
        """A box of the same content under the first key; None: it is. SealBroken where no key opens it."""
        which, content = self._opened(box, context)
        return self.seal(content, context) if which else None

    def _opened(self, box: bytes, context: str) -> tuple[int, bytes]:
        """Which of the keys opens it, and its content."""
        nonce, sealed = box[1 : 1 + _NONCE_BYTES], box[1 + _NONCE_BYTES :]
        for which, cipher in enumerate(self._ciphers if box[:1] == _VERSION else ()):
            try:
                return which, cipher.decrypt(nonce, sealed, context.encode())
            except InvalidTag:
                continue
        raise SealBroken


def derive(secret_key: str, purpose: str) -> bytes:
    """32 bytes for one purpose (RFC 5869), the same on every node."""
    return HKDF(SHA256(), 32, salt=None, info=f"restante {purpose}".encode()).derive(
        secret_key.encode()
    )
