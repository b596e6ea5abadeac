"""The keys an agent signs its requests with: minted here, or registered by their public half.

A key dies with the credential whose token it was made with. At most four of an agent are live.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Select, insert, or_, select, update
from sqlalchemy.orm import Session

from restante.audit.actions import Action
from restante.audit.chain import record
from restante.audit.entries import IN_PROCESS, Entry, Origin
from restante.errors import NotFound, TooManyKeys, ValidationFailed
from restante.identity.sealing import SealBroken, Sealer
from restante.identity.signatures.keys import Algorithm, VerifyingKey
from restante.identity.signatures.public_keys import (
    KeyRefused,
    canonical,
    key_of,
    read_public_key,
)
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, encode_id, new_id
from restante.storage.tables.identity import credential, principal
from restante.storage.tables.operation import incarnation
from restante.storage.tables.signatures import signing_key

MOST_LIVE = 4
LIFETIME = timedelta(days=1)
SEALED_FOR = "signing-keys"
_SECRET_PREFIX = "rstk_"  # so that scanners of repositories know one when they see it


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A key as its agent sees it. `expires_at` None: until it is deleted or its credential ends."""

    key_id: str
    algorithm: Algorithm
    created_at: datetime
    expires_at: datetime | None
    public_jwk: dict[str, str] | None = None
    # of a minted one, and only when it is made
    secret: str | None = field(default=None, repr=False)


class SigningKeys:
    """Makes keys and opens them. `secret_keys`: what shared secrets are sealed with."""

    def __init__(self, secret_keys: Sequence[str]) -> None:
        self._sealer = Sealer(secret_keys, SEALED_FOR)

    def mint(
        self,
        session: Session,
        principal_id: bytes,
        *,
        credential_id: bytes,
        by: Origin = IN_PROCESS,
    ) -> SigningKey:
        """A new shared secret that lives a day. Raises TooManyKeys."""
        secret, raw = _SECRET_PREFIX + secrets.token_urlsafe(32), new_id()
        made = _add(
            session,
            raw,
            principal_id,
            credential_id=credential_id,
            by=by,
            algorithm=Algorithm.HMAC_SHA256,
            lives=LIFETIME,
            secret_sealed=self._sealer.seal(secret.encode(), encode_id(Prefix.KEY, raw)),
        )
        return replace(made, secret=secret)

    def register(
        self,
        session: Session,
        principal_id: bytes,
        *,
        credential_id: bytes,
        public_jwk: Mapping[str, Any],
        by: Origin = IN_PROCESS,
    ) -> SigningKey:
        """A public key of the agent's own. Raises ValidationFailed (weak, published) and TooManyKeys."""
        try:
            algorithm, _ = read_public_key(public_jwk)
        except KeyRefused as error:
            raise ValidationFailed.at("/public_jwk", str(error)) from None
        kept = canonical(public_jwk)
        made = _add(
            session,
            new_id(),
            principal_id,
            credential_id=credential_id,
            by=by,
            algorithm=algorithm,
            public_jwk=json.dumps(kept),
        )
        return replace(made, public_jwk=kept)

    def verifying(
        self, session: Session, principal_id: bytes, *, now: datetime
    ) -> dict[str, VerifyingKey]:
        """The live keys of an agent by id, opened."""
        begun_at = session.connection().execute(select(incarnation.c.begun_at)).scalar()
        # clients count in whole seconds
        since = 0.0 if begun_at is None else begun_at.replace(tzinfo=UTC).timestamp() - 1
        rows = session.connection().execute(
            _live(principal_id, now).add_columns(signing_key.c.secret_sealed)
        )
        found = {}
        for row in rows:
            key_id = encode_id(Prefix.KEY, row.key_id)
            material: Any
            try:
                if row.public_jwk is None:
                    material = self._sealer.open(row.secret_sealed, key_id)
                else:
                    material = key_of(json.loads(row.public_jwk))[1]
            except SealBroken:
                continue  # nobody knows it any more: its agent makes another
            found[key_id] = VerifyingKey.of(key_id, Algorithm(row.algorithm), material, since=since)
        return found


def live_keys(session: Session, principal_id: bytes) -> list[SigningKey]:
    """The keys that verify now, oldest first."""
    rows = session.connection().execute(_live(principal_id, database_now(session)))
    return [
        SigningKey(
            encode_id(Prefix.KEY, row.key_id),
            Algorithm(row.algorithm),
            row.created_at,
            row.expires_at,
            None if row.public_jwk is None else json.loads(row.public_jwk),
        )
        for row in rows
    ]


def revoke_key(
    session: Session, principal_id: bytes, *, key_id: bytes, by: Origin = IN_PROCESS
) -> datetime:
    """End a key; when it was ended, now or before. NotFound where the agent has none of that id."""
    connection = session.connection()
    own = (signing_key.c.key_id == key_id, signing_key.c.principal_id == principal_id)
    ended = connection.execute(
        update(signing_key)
        .where(*own, signing_key.c.revoked_at.is_(None))
        .values(revoked_at=database_now(session))
    )
    revoked_at: datetime | None = connection.execute(
        select(signing_key.c.revoked_at).where(*own)
    ).scalar()
    if revoked_at is None:
        raise NotFound
    if ended.rowcount:
        named = encode_id(Prefix.KEY, key_id)
        _note(session, principal_id, Action.SIGNING_KEY_REVOKE, target=named, by=by)
    return revoked_at


def _add(
    session: Session,
    raw: bytes,
    principal_id: bytes,
    *,
    credential_id: bytes,
    by: Origin,
    algorithm: Algorithm,
    lives: timedelta | None = None,
    **material: bytes | str,
) -> SigningKey:
    key_id = encode_id(Prefix.KEY, raw)
    now = _room_for_one(session, principal_id)
    ends = None if lives is None else now + lives
    _note(session, principal_id, Action.SIGNING_KEY_CREATE, target=key_id, by=by)
    session.connection().execute(
        insert(signing_key).values(
            key_id=raw,
            principal_id=principal_id,
            credential_id=credential_id,
            algorithm=algorithm.value,
            created_at=now,
            expires_at=ends,
            **material,
        )
    )
    return SigningKey(key_id, algorithm, now, ends)


def _room_for_one(session: Session, principal_id: bytes) -> datetime:
    """The time, once no other can make a key of the agent; TooManyKeys where it has all it may."""
    connection = session.connection()
    connection.execute(
        select(principal.c.principal_id)
        .where(principal.c.principal_id == principal_id)
        .with_for_update()
    )
    now = database_now(session)
    if len(connection.execute(_live(principal_id, now)).all()) >= MOST_LIVE:
        raise TooManyKeys
    return now


def _note(
    session: Session, principal_id: bytes, action: Action, *, target: str, by: Origin
) -> None:
    tenant_id = session.connection().execute(
        select(principal.c.tenant_id).where(principal.c.principal_id == principal_id)
    )
    record(session, Entry(tenant_id.scalar_one(), by, action, target=target))


def _live(principal_id: bytes, now: datetime) -> Select[Any]:
    return (
        select(
            signing_key.c.key_id,
            signing_key.c.algorithm,
            signing_key.c.public_jwk,
            signing_key.c.created_at,
            signing_key.c.expires_at,
        )
        .join(credential, credential.c.credential_id == signing_key.c.credential_id)
        .where(
            signing_key.c.principal_id == principal_id,
            signing_key.c.revoked_at.is_(None),
            or_(signing_key.c.expires_at.is_(None), signing_key.c.expires_at > now),
            credential.c.revoked_at.is_(None),
        )
        .order_by(signing_key.c.created_at, signing_key.c.key_id)
    )
