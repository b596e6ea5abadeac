"""Failed authentications, counted for a minute per client and per address, over all nodes.

Guessing 256 bits is hopeless anyway; the limit keeps the guesser from costing much. A limit per
client cannot tell its owner from a stranger, so it ends with its minute and shuts nobody out for good.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import datetime, timedelta
from ipaddress import IPv4Address, IPv6Network, ip_address

from sqlalchemy import case, delete, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from restante.errors import RateLimited
from restante.storage.clock import database_now, offset, utc_now
from restante.storage.tables.identity import failed_attempt
from restante.storage.transaction import Repeat

MOST_FAILURES = 20
WINDOW = timedelta(seconds=60)


def network_of(address: str | None) -> str:
    """What an address is counted as: an IPv6 one by its /64, since whoever has one of it has them all."""
    try:
        found = ip_address(address or "")
    except ValueError:
        return str(address)
    if isinstance(found, IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(IPv6Network((int(found) >> 64 << 64, 64)))


def refuse_guessers(
    session: Session, subjects: Iterable[str], *, most: int = MOST_FAILURES
) -> None:
    """Raise RateLimited where one of the subjects (`client:…`, `address:…`) has failed too often."""
    often = session.connection().execute(
        select(failed_attempt.c.window_began_at, utc_now().label("now"))
        .where(
            failed_attempt.c.subject_hash.in_([_hashed(subject) for subject in subjects]),
            failed_attempt.c.failures >= most,
        )
        .order_by(failed_attempt.c.window_began_at.desc())
    )
    newest = often.first()
    if newest is None:
        return
    left = newest.window_began_at + WINDOW - (newest.now + offset(session))
    if left > timedelta():
        raise RateLimited(
            "Too many failed attempts.",
            retry_after_seconds=max(1, round(left.total_seconds())),
        )


def count_failure(session: Session, subjects: Iterable[str]) -> None:
    """Count one failed authentication for each of the subjects."""
    now = database_now(session)
    for subject_hash in sorted(_hashed(subject) for subject in subjects):
        if not _count_again(session, subject_hash, now):
            _count_first(session, subject_hash, now)


def _count_again(session: Session, subject_hash: bytes, now: datetime) -> bool:
    running = failed_attempt.c.window_began_at > now - WINDOW
    counted = session.connection().execute(
        update(failed_attempt)
        .where(failed_attempt.c.subject_hash == subject_hash)
        # in this order: MySQL lets the second see what the first was set to
        .ordered_values(
            (failed_attempt.c.failures, case((running, failed_attempt.c.failures + 1), else_=1)),
            (
                failed_attempt.c.window_began_at,
                case((running, failed_attempt.c.window_began_at), else_=now),
            ),
        )
    )
    return bool(counted.rowcount)


def _count_first(session: Session, subject_hash: bytes, now: datetime) -> None:
    connection = session.connection()
    connection.execute(
        delete(failed_attempt).where(failed_attempt.c.window_began_at <= now - WINDOW)
    )
    try:
        connection.execute(
            insert(failed_attempt).values(
                subject_hash=subject_hash, failures=1, window_began_at=now
            )
        )
    except IntegrityError:
        raise Repeat from None


def _hashed(subject: str) -> bytes:
    return hashlib.sha256(subject.encode("utf-8", "surrogatepass")).digest()
