"""How many challenges may go to one host: ten in any hour, over all tenants and nodes (contract 5.10)."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta

from sqlalchemy import insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from restante.errors import RateLimited
from restante.storage.clock import database_now
from restante.storage.tables.callbacks import callback_challenge, callback_host
from restante.storage.transaction import Repeat

MOST = 10
WINDOW = timedelta(hours=1)


def spend(session: Session, host: str, *, callback_id: bytes, challenge_id: bytes) -> datetime:
    """Count a challenge that is to be sent; the time. RateLimited where the host has had all of them."""
    connection, host_hash = session.connection(), hashlib.sha256(host.encode()).digest()
    if not _locked(session, host_hash):
        try:
            connection.execute(
                insert(callback_host).values(
                    host_hash=host_hash, challenged_at=database_now(session)
                )
            )
        except IntegrityError:
            raise Repeat from None
    now = database_now(session)  # after the lock
    sent = connection.execute(
        select(callback_challenge.c.sent_at)
        .where(
            callback_challenge.c.host_hash == host_hash,
            callback_challenge.c.sent_at > now - WINDOW,
        )
        .order_by(callback_challenge.c.sent_at.desc())
        .limit(MOST)
    )
    at = list(sent.scalars())
    if len(at) >= MOST:
        left = at[-1] + WINDOW - now
        raise RateLimited(
            f"This host has had {MOST} challenges within an hour.",
            retry_after_seconds=max(1, round(left.total_seconds())),
        )
    connection.execute(
        insert(callback_challenge).values(
            challenge_id=challenge_id, callback_id=callback_id, host_hash=host_hash, sent_at=now
        )
    )
    connection.execute(
        update(callback_host)
        .where(callback_host.c.host_hash == host_hash)
        .values(challenged_at=now)
    )
    return now


def _locked(session: Session, host_hash: bytes) -> bool:
    row = session.connection().execute(
        select(callback_host.c.host_hash)
        .where(callback_host.c.host_hash == host_hash)
        .with_for_update()
    )
    return row.first() is not None
