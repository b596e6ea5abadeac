"""Idempotency-Key: a request that is repeated is answered from the ids its first run made.

The key is in the transaction of the rows: only what committed is kept, a crash frees the key.
`replay` comes first in a unit of work (lock order: the key before everything else) and takes the
key, so that the same request meanwhile finds it held; `keep` fills in what the verb has made.
"""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from typing import Any, Protocol

import orjson
from sqlalchemy import Select, insert, select, update
from sqlalchemy.exc import IntegrityError, OperationalError
from sqlalchemy.orm import Session

from restante.errors import IdempotencyInFlight, IdempotencyKeyReused
from restante.inbox.publication import hash_key
from restante.inbox.repeats import KEPT_LONGER
from restante.inbox.rules import rules
from restante.storage.clock import database_now
from restante.storage.tables.keys import idempotency_key
from restante.storage.transaction import Repeat, is_held


def request_hash(method: str, path: str, body: bytes) -> bytes:
    """SHA-256 of method, path and body: what a key stands for."""
    return hashlib.sha256(b"\0".join((method.encode(), path.encode(), body))).digest()


class Identified(Protocol):
    """Whose keys they are: a principal, or an operator."""

    @property
    def id(self) -> bytes:
        """Its id, which nobody else has."""


def replay(session: Session, principal: Identified, key: str, hashed: bytes) -> Any | None:
    """What the first run made (as it was given to `keep`); None where this is it: the key is taken.

    Raises IdempotencyKeyReused for another request, IdempotencyInFlight while the first runs.
    """
    try:
        row = _find(session, principal, key, _KNOWN.with_for_update(nowait=True))
    except OperationalError as error:
        if not is_held(error):
            raise
        # what is committed is held by another repeat, and answers this one as well
        row = _find(session, principal, key, _KNOWN)
        if row is None:
            raise IdempotencyInFlight from None
    if row is None:
        _take(session, principal, key, hashed)
        return None
    if row.request_hash != hashed:
        raise IdempotencyKeyReused
    return orjson.loads(row.made)


def keep(
    session: Session,
    principal: Identified,
    key: str,
    made: Any,
    *,
    latest_at: datetime | None = None,
) -> None:
    """Keep what a request made, as JSON, until well after `latest_at`, when its last is available."""
    values: dict[str, Any] = {"made": orjson.dumps(made)}
    if latest_at is not None:
        values["keep_until"] = latest_at + _kept(session)
    session.connection().execute(
        update(idempotency_key)
        .where(
            idempotency_key.c.principal_id == principal.id,
            idempotency_key.c.key_hash == hash_key(key),
        )
        .values(values)
    )


def _find(session: Session, principal: Identified, key: str, known: Select[Any]) -> Any | None:
    return (
        session.connection()
        .execute(
            known.where(
                idempotency_key.c.principal_id == principal.id,
                idempotency_key.c.key_hash == hash_key(key),
            )
        )
        .first()
    )


def _take(session: Session, principal: Identified, key: str, hashed: bytes) -> None:
    now = database_now(session)
    try:
        session.connection().execute(
            insert(idempotency_key),
            {
                "principal_id": principal.id,
                "key_hash": hash_key(key),
                "request_hash": hashed,
                "made": b"null",
                "created_at": now,
                "keep_until": now + _kept(session),
            },
        )
    except IntegrityError as error:
        raise Repeat from error  # the same request, a moment ago: the other one has it


def _kept(session: Session) -> timedelta:
    return timedelta(seconds=rules(session).retention_seconds) + KEPT_LONGER


_KNOWN = select(idempotency_key.c.request_hash, idempotency_key.c.made)
