"""The keys that sign access tokens: in the database, the private halves sealed, made at first need."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from joserfc.jwk import OKPKey
from sqlalchemy import insert, or_, select
from sqlalchemy.orm import Session

from restante.identity.credentials import Client
from restante.identity.principal import PrincipalKind
from restante.identity.scopes import Scope
from restante.identity.sealing import Sealer
from restante.identity.tokens import ALGORITHM, LIFETIME_SECONDS, Claims, new_token_id, sign
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, encode_id
from restante.storage.tables.identity import token_key
from restante.storage.tables.operation import incarnation


@dataclass(frozen=True, slots=True)
class Issued:
    """An access token as its client gets it."""

    access_token: str = field(repr=False)
    expires_in_seconds: int
    scopes: tuple[Scope, ...]


class TokenKeys:
    """Issues tokens and knows the keys that verify them. One per process; keys it has opened stay open."""

    def __init__(self, issuer: str, secret_keys: Sequence[str]) -> None:
        self.issuer = issuer
        self._sealer = Sealer(secret_keys, "token-keys")
        self._private: dict[str, OKPKey] = {}
        self._public: dict[str, OKPKey] = {}

    def issue(self, session: Session, client: Client, scopes: Iterable[Scope]) -> Issued:
        """A new token of the client for these scopes, which the caller has checked."""
        now = database_now(session)
        kid, key = self._signing_key(session, now)
        made = tuple(sorted(scopes, key=str))
        issued_at = int(now.replace(tzinfo=UTC).timestamp())
        claims = Claims(
            token_id=new_token_id(),
            kid=kid,
            principal_id=client.principal_id,
            kind=client.kind,
            credential_id=client.credential_id,
            scopes=frozenset(made),
            issued_at=issued_at,
            expires_at=issued_at + LIFETIME_SECONDS,
        )
        prefix = Prefix.AGENT if client.kind is PrincipalKind.AGENT else Prefix.SERVICE
        token = sign(
            claims, issuer=self.issuer, client_id=encode_id(prefix, client.principal_id), key=key
        )
        return Issued(token, LIFETIME_SECONDS, made)

    def check(self, session: Session) -> None:
        """Have a key to sign with; SealBroken where there is one that our secret keys do not open."""
        self._signing_key(session, database_now(session))

    def verifying(self, session: Session) -> Mapping[str, OKPKey]:
        """The public keys whose tokens are taken now, by key id."""
        rows = self._live(session, database_now(session))
        self._public = {
            kid: self._public.get(kid) or OKPKey.import_key(json.loads(jwk))
            for kid, jwk in rows.items()
        }
        return self._public

    def public_key_set(self, session: Session) -> dict[str, Any]:
        """The JWK set (RFC 7517, section 5) of those keys."""
        now = database_now(session)
        self._signing_key(session, now)
        return {"keys": [json.loads(jwk) for jwk in self._live(session, now).values()]}

    def _live(self, session: Session, now: datetime) -> dict[str, str]:
        rows = session.connection().execute(
            select(token_key.c.kid, token_key.c.public_jwk)
            .where(or_(token_key.c.verifies_until.is_(None), token_key.c.verifies_until > now))
            .order_by(token_key.c.created_at, token_key.c.kid)
        )
        return {row.kid: row.public_jwk for row in rows}

    def _signing_key(self, session: Session, now: datetime) -> tuple[str, OKPKey]:
        """The newest key that may sign; made where there is none."""
        row = _newest(session, now)
        if row is None:
            # of several processes that start at once one makes it; the others wait here and find it
            session.connection().execute(select(incarnation.c.incarnation_id).with_for_update())
            row = _newest(session, now)
        if row is None:
            return self._make(session, now)
        kid, sealed = row
        if kid not in self._private:
            self._private[kid] = OKPKey.import_key(json.loads(self._sealer.open(sealed, kid)))
        return kid, self._private[kid]

    def _make(self, session: Session, now: datetime) -> tuple[str, OKPKey]:
        key = OKPKey.generate_key("Ed25519")
        kid = key.thumbprint()
        common = {"kid": kid, "alg": ALGORITHM, "use": "sig"}
        private = json.dumps({**key.as_dict(private=True), **common}).encode()
        session.connection().execute(
            insert(token_key).values(
                kid=kid,
                algorithm=ALGORITHM,
                public_jwk=json.dumps({**key.as_dict(private=False), **common}),
                private_sealed=self._sealer.seal(private, kid),
                created_at=now,
            )
        )
        self._private[kid] = key
        return kid, key


def _newest(session: Session, now: datetime) -> Any:
    return (
        session.connection()
        .execute(
            select(token_key.c.kid, token_key.c.private_sealed)
            .where(or_(token_key.c.signs_until.is_(None), token_key.c.signs_until > now))
            .where(or_(token_key.c.verifies_until.is_(None), token_key.c.verifies_until > now))
            .order_by(token_key.c.created_at.desc(), token_key.c.kid.desc())
            .limit(1)
        )
        .one_or_none()
    )
