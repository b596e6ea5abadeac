"""Keys that verify. A key is for one algorithm, whatever a signature says of itself."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from http_message_signatures import HTTPSignatureAlgorithm, algorithms


class Algorithm(StrEnum):
    """The names of the registry of RFC 9421, section 6.2."""

    HMAC_SHA256 = "hmac-sha256"
    ED25519 = "ed25519"
    ECDSA_P256_SHA256 = "ecdsa-p256-sha256"
    RSA_PSS_SHA512 = "rsa-pss-sha512"


_VERIFIERS: dict[Algorithm, type[HTTPSignatureAlgorithm]] = {
    Algorithm.HMAC_SHA256: algorithms.HMAC_SHA256,
    Algorithm.ED25519: algorithms.ED25519,
    Algorithm.ECDSA_P256_SHA256: algorithms.ECDSA_P256_SHA256,
    Algorithm.RSA_PSS_SHA512: algorithms.RSA_PSS_SHA512,
}


@dataclass(frozen=True, slots=True)
class VerifyingKey:
    """A key by its id, with the algorithm that it is for.

    `since`: seconds since 1970, from which on every nonce it has used is known. What was signed before
    may have been used in a time that a restored backup knows nothing of.
    """

    key_id: str
    algorithm: Algorithm
    verifier: HTTPSignatureAlgorithm
    since: float = 0.0

    @classmethod
    def of(
        cls, key_id: str, algorithm: Algorithm, material: Any, *, since: float = 0.0
    ) -> VerifyingKey:
        """A key; `material`: the bytes of a shared secret, or a public key of `cryptography`."""
        return cls(key_id, algorithm, _VERIFIERS[algorithm](public_key=material), since)

    def verifies(self, signature: bytes, content: bytes) -> bool:
        """Whether the signature is one of the content by this key."""
        try:
            self.verifier.verify(signature=signature, message=content)
        except Exception:  # noqa: BLE001 - of the library and of cryptography: all mean the same
            return False
        return True
