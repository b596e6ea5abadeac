"""The keys that this server signs with: in the database, the private halves sealed, made at first need.

Which of them signs is in the rows: the oldest that may. So its successor is published, and known to
every process and whoever caches the key set, before anything is signed with it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from joserfc.jwk import OKPKey
from sqlalchemy import ColumnElement, insert, or_, select, update
from sqlalchemy.orm import Session

from restante.identity.sealing import Sealer
from restante.identity.tokens import ALGORITHM, LIFETIME_SECONDS
from restante.storage.tables.identity import token_key
from restante.storage.tables.operation import incarnation

PUBLISHED_BEFORE = timedelta(seconds=330)
"""So long a key is published before it signs: key sets are cached for 300 s, and travel."""
VERIFIES_AFTER = timedelta(seconds=LIFETIME_SECONDS + 60)
"""So long it verifies after it has signed for the last time: a token's life, and a little."""


class Purpose(StrEnum):
    """What a key signs; it verifies nothing else."""

    TOKEN = "token"
    WEBHOOK = "webhook"


@dataclass(frozen=True, slots=True)
class ServerKey:
    """A key without its private half. None: it signs or verifies until it is rotated."""

    kid: str
    purpose: Purpose
    public_jwk: str
    created_at: datetime
    signs_until: datetime | None
    verifies_until: datetime | None

    def may_sign(self, now: datetime) -> bool:
        """Whether it signs, or will once those before it have ended."""
        return self.signs_until is None or self.signs_until > now


class ServerKeys:
    """The keys of one purpose. The private half of the one that signs stays open in the process."""

    def __init__(self, secret_keys: Sequence[str], purpose: Purpose) -> None:
        self.purpose = purpose
        self._sealer = Sealer(secret_keys, sealed_for(purpose))
        self._opened: tuple[str, OKPKey] | None = None

    def signer(self, session: Session, now: datetime) -> tuple[str, OKPKey]:
        """The key that signs now, with its id; made where there is none.

        Raises SealBroken where it was sealed under a secret key that is not among ours.
        """
        row = self._signer(session, now)
        if row is None:
            lock_keys(session)
            row = self._signer(session, now)
        opened = self._opened
        if row is None:
            opened = self.make(session, now)
        elif opened is None or opened[0] != row.kid:
            private = self._sealer.open(row.private_sealed, row.kid)
            opened = row.kid, OKPKey.import_key(json.loads(private))
        self._opened = opened
        return opened

    def check(self, session: Session, now: datetime) -> None:
        """Raises SealBroken where `signer` would; makes none where there is none."""
        row = self._signer(session, now)
        if row is not None:
            self._sealer.open(row.private_sealed, row.kid)

    def live(self, session: Session, now: datetime) -> list[ServerKey]:
        """Those that verify now, or will: oldest first."""
        return live_keys(session, now, [self.purpose])

    def make(self, session: Session, now: datetime) -> tuple[str, OKPKey]:
        """A new key, which signs once all that are older have ended. The caller holds `lock_keys`."""
        key = OKPKey.generate_key("Ed25519")
        kid = key.thumbprint()
        common = {"kid": kid, "alg": ALGORITHM, "use": "sig"}
        private = json.dumps({**key.as_dict(private=True), **common}).encode()
        session.connection().execute(
            insert(token_key).values(
                kid=kid,
                purpose=self.purpose.value,
                algorithm=ALGORITHM,
                public_jwk=json.dumps({**key.as_dict(private=False), **common}),
                private_sealed=self._sealer.seal(private, kid),
                created_at=now,
            )
        )
        return kid, key

    def retire(self, session: Session, kids: Collection[str], now: datetime) -> None:
        """Have these sign until a successor that is made now is known everywhere, and verify on."""
        signs_until = now + PUBLISHED_BEFORE
        session.connection().execute(
            update(token_key)
            .where(token_key.c.kid.in_(sorted(kids)))
            .values(signs_until=signs_until, verifies_until=signs_until + VERIFIES_AFTER)
        )

    def _signer(self, session: Session, now: datetime) -> Any:
        return (
            session.connection()
            .execute(
                select(token_key.c.kid, token_key.c.private_sealed)
                .where(
                    token_key.c.purpose == self.purpose.value,
                    _later(token_key.c.signs_until, now),
                    _later(token_key.c.verifies_until, now),
                )
                .order_by(token_key.c.created_at, token_key.c.kid)
                .limit(1)
            )
            .one_or_none()
        )


def sealed_for(purpose: str) -> str:
    """What private halves of this purpose are sealed for."""
    return f"{purpose}-keys"


def lock_keys(session: Session) -> None:
    """Of all that would make or end keys at once one goes on; the others wait here and find what it did."""
    session.connection().execute(select(incarnation.c.incarnation_id).with_for_update())


def live_keys(
    session: Session, now: datetime, purposes: Collection[Purpose] = tuple(Purpose)
) -> list[ServerKey]:
    """The keys of these purposes that verify now, or will: oldest first."""
    rows = session.connection().execute(
        select(*(token_key.c[name] for name in ServerKey.__dataclass_fields__))
        .where(
            token_key.c.purpose.in_([purpose.value for purpose in purposes]),
            _later(token_key.c.verifies_until, now),
        )
        .order_by(token_key.c.created_at, token_key.c.kid)
    )
    return [ServerKey(**{**row._mapping, "purpose": Purpose(row.purpose)}) for row in rows]  # noqa: SLF001 - SQLAlchemy's own name


def _later(column: Any, now: datetime) -> ColumnElement[bool]:
    return or_(column.is_(None), column > now)
