"""Content-Digest, compared with the body (RFC 9530)."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence

from restante.identity.signatures.fields import read_dictionary
from restante.identity.signatures.message import field_value
from restante.identity.signatures.refusals import (
    DigestInvalid,
    DigestMalformed,
    DigestMismatch,
    DigestUnsupported,
)

ALGORITHMS = {"sha-256": hashlib.sha256, "sha-512": hashlib.sha512}


def check_digest(lines: Sequence[str], content: bytes) -> None:
    """Raise the refusal that fits where the field is not one of this content.

    Every digest of a known algorithm has to be right; what else is there is not looked at.
    """
    try:
        members = read_dictionary(field_value(lines))
    except ValueError:
        raise DigestMalformed from None
    digests: dict[str, bytes] = {}
    for name, (value, _parameters) in members.items():
        if type(value) is not bytes:
            raise DigestMalformed
        if name in ALGORITHMS:
            digests[name] = value
    if not digests:
        raise DigestUnsupported
    for name, digest in digests.items():
        if len(digest) != ALGORITHMS[name]().digest_size:
            raise DigestInvalid
    for name, digest in digests.items():
        if not hmac.compare_digest(digest, ALGORITHMS[name](content).digest()):
            raise DigestMismatch
