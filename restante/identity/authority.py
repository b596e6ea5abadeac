"""From a bearer token to what its bearer may do now.

The signature of a token is verified once; every request looks at the state of its principal,
credential and grants, which is at most half a second old, so that what is disabled, revoked or
withdrawn ends on every node within one second.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC
from itertools import islice
from math import inf

from joserfc.jwk import OKPKey
from sqlalchemy import bindparam, null, select, union_all
from sqlalchemy.orm import Session

from restante.errors import Unauthenticated
from restante.identity.principal import Principal, PrincipalKind, Project
from restante.identity.projects import projects_of
from restante.identity.recent import STATE_SECONDS, Cell, Held, Recent
from restante.identity.requested_scopes import still_given
from restante.identity.scopes import Scope, parse_scope
from restante.identity.token_keys import TokenKeys
from restante.identity.tokens import Claims, UnknownKey, check_time, verify
from restante.storage.clock import database_now
from restante.storage.statement import Statement
from restante.storage.tables.identity import credential, granted_scope, principal, tenant
from restante.storage.tables.logins import revoked_token
from restante.storage.transaction import Database

MOST_TOKENS = 20_000
MOST_PRINCIPALS = 20_000
MOST_TOGETHER = 200
LOOK_AGAIN_SECONDS = 0.1
"""A flood of tokens with unknown keys has them read ten times a second, and no more."""


@dataclass(frozen=True, slots=True)
class _Keys:
    """The public keys, and the database's clock (seconds since 1970) when ours showed `read_at`."""

    keys: Mapping[str, OKPKey]
    database_seconds: float
    read_at: float


@dataclass(frozen=True, slots=True)
class _State:
    """A principal as it is now, and what became of its tokens' scopes."""

    tenant_id: bytes
    kind: PrincipalKind
    name: str
    active: bool
    requires_signatures: bool
    grants: frozenset[Scope]
    credentials: frozenset[bytes]
    revoked_tokens: frozenset[str]
    projects: Mapping[str, Project]
    principals: dict[frozenset[Scope], Principal] = field(default_factory=dict)


class Authority:
    """Turns tokens into principals. One per process; the caches are its own."""

    def __init__(
        self,
        database: Database,
        token_keys: TokenKeys,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._token_keys = token_keys
        self._monotonic = monotonic
        self._keys: Cell[_Keys] = Cell()
        self._looked_again_at = -inf
        self._claims: Recent[bytes, Claims] = Recent(MOST_TOKENS)
        self._states: Recent[bytes, Cell[_State | None]] = Recent(MOST_PRINCIPALS)
        # those that have called since some were last looked at: they are looked at together
        self._calling: dict[bytes, Cell[_State | None]] = {}
        self._looking = threading.Lock()

    def claims(self, token: str) -> Claims:
        """What a token says that is good now by itself: signature, key, time."""
        known = self._keys.fresh(self._monotonic, self._load_keys)
        now = self._now(known)
        digest = hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
        claims = self._claims.get(digest)
        if claims is None:
            claims = self._verified(token, known)
            self._claims.put(digest, claims)
            # a token that is new here may stand on rights newer than those that are known
            self.expire(claims.principal_id)
        else:
            _check(claims, known, now)
        return claims

    def _verified(self, token: str, known: _Keys) -> Claims:
        """What a new token says. Where its key is unknown, that may have just been made for a removed one."""
        issuer = self._token_keys.issuer
        try:
            return verify(token, issuer=issuer, keys=known.keys, now=self._now(known))
        except UnknownKey:
            now = self._monotonic()
            if now - max(known.read_at, self._looked_again_at) >= LOOK_AGAIN_SECONDS:
                self._looked_again_at = now
                self._keys.expire()
            newer = self._keys.fresh(self._monotonic, self._load_keys)
            if newer is known:
                raise
        return verify(token, issuer=issuer, keys=newer.keys, now=self._now(newer))

    def check(self, claims: Claims) -> None:
        """Unauthenticated where a token that says this is not good any more by itself: key, time."""
        known = self._keys.fresh(self._monotonic, self._load_keys)
        _check(claims, known, self._now(known))

    def now(self) -> float:
        """The database's clock, in seconds since 1970."""
        return self._now(self._keys.fresh(self._monotonic, self._load_keys))

    def _now(self, known: _Keys) -> float:
        return known.database_seconds + self._monotonic() - known.read_at

    def principal(self, claims: Claims) -> Principal:
        """Whom the claims name, as he is now (at most half a second ago); streams ask at each heartbeat.

        He has those scopes of his token that his grants still give. Opens no transaction when the
        state is fresh. Raises Unauthenticated: he is gone or disabled, or his credential is revoked.
        """
        cell = self._states.get(claims.principal_id)
        if cell is None:
            self._states.put(claims.principal_id, cell := Cell())
        self._calling[claims.principal_id] = cell
        state = cell.fresh(self._monotonic, lambda: self._look(claims.principal_id, cell))
        return _bearer(claims, state)

    def principal_now(self, session: Session, claims: Claims) -> Principal:
        """The same out of the caller's own transaction, as he is at this moment."""
        return _bearer(claims, _load(session, [claims.principal_id]).get(claims.principal_id))

    def expire(self, principal_id: bytes) -> None:
        """Something of the principal has just been withdrawn here: look at it again."""
        if (cell := self._states.get(principal_id)) is not None:
            cell.expire()

    def _look(self, principal_id: bytes, cell: Cell[_State | None]) -> _State | None:
        """A principal as it is now, and with it others that have called and grow old."""
        with self._looking:
            now = self._monotonic()
            if (held := cell.found(now)) is not None:
                return held.value  # somebody has just looked at it together with his own
            calling, self._calling = self._calling, {}
            others = {
                other_id: (other, other.expiries)
                for other_id, other in islice(calling.items(), MOST_TOGETHER)
                if other.found(now + STATE_SECONDS / 2) is None
            }
            states = self._database.run(lambda s: _load(s, sorted({principal_id, *others})))
            for other_id, (other, expiries) in others.items():
                if other is not cell:
                    other.held = Held(states.get(other_id), now, expiries)
            return states.get(principal_id)

    def _load_keys(self) -> _Keys:
        def load(session: Session) -> _Keys:
            keys = self._token_keys.verifying(session)
            seconds = database_now(session).replace(tzinfo=UTC).timestamp()
            return _Keys(keys, seconds, self._monotonic())

        return self._database.run(load)


def _check(claims: Claims, known: _Keys, now: float) -> None:
    if claims.kid not in known.keys:
        raise Unauthenticated("key_removed", presented=True, bearer=claims.public_id)
    check_time(claims, now)


def _bearer(claims: Claims, state: _State | None) -> Principal:
    """Whom the claims name, by what is known of him; Unauthenticated where that does not hold."""
    if state is None or not state.active or state.kind is not claims.kind:
        raise Unauthenticated("principal_gone", presented=True, bearer=claims.public_id)
    if claims.credential_id not in state.credentials:
        raise Unauthenticated("credential_revoked", presented=True, bearer=claims.public_id)
    if claims.token_id in state.revoked_tokens:
        raise Unauthenticated("token_revoked", presented=True, bearer=claims.public_id)
    found = state.principals.get(claims.scopes)
    if found is None:
        found = state.principals[claims.scopes] = Principal(
            tenant_id=state.tenant_id,
            kind=state.kind,
            id=claims.principal_id,
            name=state.name,
            scopes=still_given(claims.scopes, grants=state.grants, slugs=state.projects.keys()),
            projects=state.projects,
            must_sign=state.requires_signatures and state.kind is PrincipalKind.AGENT,
        )
    return found


def _load(session: Session, principal_ids: Sequence[bytes]) -> dict[bytes, _State]:
    """Those of these principals that there are."""
    wanted = {"principal_ids": list(principal_ids)}
    rows = _PRINCIPALS.rows(session, wanted)
    grants: defaultdict[bytes, set[Scope]] = defaultdict(set)
    credentials: defaultdict[bytes, set[bytes]] = defaultdict(set)
    revoked: defaultdict[bytes, set[str]] = defaultdict(set)
    for row in _RIGHTS.rows(session, wanted):
        if row.credential_id is not None:
            credentials[row.principal_id].add(row.credential_id)
        elif row.token_id is not None:
            revoked[row.principal_id].add(row.token_id)
        elif (parsed := parse_scope(row.scope)) is not None:
            grants[row.principal_id].add(parsed)
    projects = {t: projects_of(session, t) for t in {row.tenant_id for row in rows}}
    return {
        row.principal_id: _State(
            tenant_id=row.tenant_id,
            kind=PrincipalKind(row.kind),
            name=row.name,
            active=row.status == "active",
            requires_signatures=bool(row.require_signatures),
            grants=frozenset(grants[row.principal_id]),
            credentials=frozenset(credentials[row.principal_id]),
            revoked_tokens=frozenset(revoked[row.principal_id]),
            projects=projects[row.tenant_id],
        )
        for row in rows
    }


_PRINCIPALS = Statement(
    select(
        principal.c.principal_id,
        principal.c.tenant_id,
        principal.c.kind,
        principal.c.name,
        principal.c.status,
        tenant.c.require_signatures,
    )
    .join(tenant, tenant.c.tenant_id == principal.c.tenant_id)
    .where(principal.c.principal_id.in_(bindparam("principal_ids", expanding=True)))
)
_RIGHTS = Statement(
    union_all(
        select(
            granted_scope.c.principal_id,
            granted_scope.c.scope,
            null().label("credential_id"),
            null().label("token_id"),
        ).where(granted_scope.c.principal_id.in_(bindparam("principal_ids", expanding=True))),
        select(credential.c.principal_id, null(), credential.c.credential_id, null()).where(
            credential.c.principal_id.in_(bindparam("principal_ids", expanding=True)),
            credential.c.revoked_at.is_(None),
        ),
        select(revoked_token.c.principal_id, null(), null(), revoked_token.c.token_id).where(
            revoked_token.c.principal_id.in_(bindparam("principal_ids", expanding=True))
        ),
    )
)
