"""The secrets of callbacks in the database: sealed, the newest and for a day the one before it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import delete, insert, or_, select, update
from sqlalchemy.orm import Session

from restante.identity.sealing import Sealer
from restante.storage.ids import Prefix, encode_id, new_id
from restante.storage.tables.callbacks import callback_secret

SEALED_FOR = "callback-secrets"
SIGNS_ON = timedelta(hours=24)
"""So long the secret before the newest signs besides it."""


class Secrets:
    """Keeps and opens them. `secret_keys`: what they are sealed with."""

    def __init__(self, secret_keys: Sequence[str]) -> None:
        self._sealer = Sealer(secret_keys, SEALED_FOR)

    def add(self, session: Session, callback_id: bytes, secret: str, *, now: datetime) -> None:
        """The newest. The one before it signs for a day more, all others no longer."""
        connection, secret_id = session.connection(), new_id()
        own = callback_secret.c.callback_id == callback_id
        connection.execute(
            delete(callback_secret).where(own, callback_secret.c.signs_until.is_not(None))
        )
        connection.execute(update(callback_secret).where(own).values(signs_until=now + SIGNS_ON))
        connection.execute(
            insert(callback_secret).values(
                secret_id=secret_id,
                callback_id=callback_id,
                secret_sealed=self._sealer.seal(secret.encode(), context_of(secret_id)),
                created_at=now,
            )
        )

    def live(self, session: Session, callback_id: bytes, now: datetime) -> list[str]:
        """Those that sign now, the newest first. SealBroken where our secret keys open one no more."""
        rows = session.connection().execute(
            select(callback_secret.c.secret_id, callback_secret.c.secret_sealed)
            .where(
                callback_secret.c.callback_id == callback_id,
                or_(callback_secret.c.signs_until.is_(None), callback_secret.c.signs_until > now),
            )
            .order_by(
                callback_secret.c.signs_until.is_not(None), callback_secret.c.secret_id.desc()
            )
        )
        return [
            self._sealer.open(row.secret_sealed, context_of(row.secret_id)).decode() for row in rows
        ]


def forget(session: Session, callback_id: bytes) -> None:
    """A callback that is removed has none."""
    session.connection().execute(
        delete(callback_secret).where(callback_secret.c.callback_id == callback_id)
    )


def context_of(secret_id: bytes) -> str:
    """What a secret is sealed with besides: whose box it is."""
    return encode_id(Prefix.KEY, secret_id)
