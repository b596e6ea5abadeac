"""User codes: what a person types to say which device is meant (RFC 8628, section 6.1)."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Sequence

from restante.identity.sealing import derive

LETTERS = "BCDFGHJKLMNPQRSTVWXZ"  # no vowels: no words; no digits: no 0 for O
LENGTH = 10
"""20^10 codes: 2,000 guesses, as many as are let pass in the life of a code, hit with 2^-32."""


class UserCodes:
    """Makes codes and the hashes that are kept of them, keyed: a plain hash of so few bits is no secret."""

    def __init__(self, secret_keys: Sequence[str]) -> None:
        self._keys = [derive(key, "user-codes") for key in secret_keys]

    def make(self) -> str:
        """`BCDFG-HJKLM`."""
        return as_shown("".join(secrets.choice(LETTERS) for _ in range(LENGTH)))

    def hashed(self, code: str) -> bytes:
        """What is kept of a new code."""
        return self.hashes(code)[0]

    def hashes(self, code: str) -> list[bytes]:
        """What may have been kept of a typed code: one for each secret key."""
        typed = normal(code).encode()
        return [hmac.digest(key, typed, "sha256") for key in self._keys]


def normal(typed: str) -> str:
    """A code as it was made, whatever case, spaces and hyphens it was typed with."""
    return "".join(letter for letter in typed[:64].upper() if letter in LETTERS)


def as_shown(typed: str) -> str:
    """A code as devices show it."""
    letters = normal(typed)[:LENGTH]
    return f"{letters[: LENGTH // 2]}-{letters[LENGTH // 2 :]}"
