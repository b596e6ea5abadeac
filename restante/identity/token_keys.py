"""Access tokens are issued here, and the keys that verify them are known: server keys of one purpose."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC
from typing import Any

from joserfc.jwk import OKPKey
from sqlalchemy.orm import Session

from restante.identity.credentials import Client
from restante.identity.principal import PrincipalKind
from restante.identity.scopes import Scope
from restante.identity.server_keys import Purpose, ServerKeys, live_keys
from restante.identity.tokens import LIFETIME_SECONDS, Claims, new_token_id, sign
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, encode_id


@dataclass(frozen=True, slots=True)
class Issued:
    """An access token as its client gets it."""

    access_token: str = field(repr=False)
    expires_in_seconds: int
    scopes: tuple[Scope, ...]


class TokenKeys:
    """Issues tokens and knows the keys that verify them. One per process."""

    def __init__(self, issuer: str, secret_keys: Sequence[str]) -> None:
        self.issuer = issuer
        self.keys = ServerKeys(secret_keys, Purpose.TOKEN)
        self._public: dict[str, OKPKey] = {}

    def issue(self, session: Session, client: Client, scopes: Iterable[Scope]) -> Issued:
        """A new token of the client for these scopes, which the caller has checked."""
        now = database_now(session)
        kid, key = self.keys.signer(session, now)
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
        self.keys.signer(session, database_now(session))

    def verifying(self, session: Session) -> Mapping[str, OKPKey]:
        """The public keys whose tokens are taken now, by key id."""
        public = {
            key.kid: self._public.get(key.kid) or OKPKey.import_key(json.loads(key.public_jwk))
            for key in self.keys.live(session, database_now(session))
        }
        self._public = public
        return public

    def public_key_set(self, session: Session) -> dict[str, Any]:
        """The JWK set (RFC 7517, section 5) of those keys, of their successors, and of those of webhooks."""
        now = database_now(session)
        self.keys.signer(session, now)
        return {"keys": [json.loads(key.public_jwk) for key in live_keys(session, now)]}
