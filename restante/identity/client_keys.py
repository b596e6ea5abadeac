"""Public keys that clients prove themselves with at the token endpoint, instead of a secret."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sqlalchemy import insert
from sqlalchemy.orm import Session

from restante.errors import ValidationFailed
from restante.identity.assertions import PUBLIC_JWK
from restante.identity.signatures.public_keys import KeyRefused, canonical, read_public_key
from restante.storage.clock import database_now
from restante.storage.ids import new_id
from restante.storage.tables.identity import credential

_LONGEST_KID = 128


def add_client_key(session: Session, principal_id: bytes, jwk: Mapping[str, Any]) -> bytes:
    """Register a public key (Ed25519, P-256 or RSA of 2048 bits and more); the id of its credential.

    Raises ValidationFailed for a weak, private or published one; what is refused is kept nowhere.
    """
    kept = kept_key(jwk)
    credential_id = new_id()
    session.connection().execute(
        insert(credential).values(
            credential_id=credential_id,
            principal_id=principal_id,
            kind=PUBLIC_JWK,
            public_jwk=json.dumps(kept),
            created_at=database_now(session),
        )
    )
    return credential_id


def kept_key(jwk: Mapping[str, Any]) -> dict[str, str]:
    """What is kept of a public key: the members that are it, and its `kid`. ValidationFailed as above."""
    try:
        read_public_key(jwk)
    except KeyRefused as error:
        raise ValidationFailed.at("/public_jwk", str(error)) from None
    kept = canonical(jwk)
    kid = jwk.get("kid")
    if isinstance(kid, str) and 0 < len(kid) <= _LONGEST_KID:
        kept["kid"] = kid
    return kept
