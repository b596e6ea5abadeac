"""One signature of a JWS, verified with the algorithm that belongs to the key (RFC 7518, section 3)."""

from __future__ import annotations

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256, SHA512

from restante.identity.signatures.public_keys import PublicKey

_P256_BYTES = 32
_PSS = padding.PSS(padding.MGF1(SHA512()), SHA512().digest_size)


def verify_signature(key: PublicKey, signature: bytes, signed: bytes) -> None:
    """InvalidSignature where the key did not make it: EdDSA, ES256 or PS512, by the kind of key."""
    if isinstance(key, ed25519.Ed25519PublicKey):
        key.verify(signature, signed)
    elif isinstance(key, ec.EllipticCurvePublicKey):
        if len(signature) != 2 * _P256_BYTES:
            raise InvalidSignature
        r, s = signature[:_P256_BYTES], signature[_P256_BYTES:]
        der = encode_dss_signature(int.from_bytes(r), int.from_bytes(s))
        key.verify(der, signed, ec.ECDSA(SHA256()))
    else:
        key.verify(signature, signed, _PSS, SHA512())
