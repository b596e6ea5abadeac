"""Publications with an idempotency key of their own, unique per producer, recipient and key."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from restante.errors import IdempotencyKeyReused, ValidationFailed
from restante.identity.principal import Principal
from restante.inbox import locate
from restante.inbox.publication import Publication, Published, hash_key, numbered
from restante.inbox.rules import rules
from restante.storage.tables.keys import publication_key

KEPT_LONGER = timedelta(days=30)
"""How long an idempotency key outlives the retention of the events it made."""

Twins = dict[tuple[bytes, bytes], tuple[bytes, bytes]]
"""(recipient, key hash) → (event id, body hash)"""


def find_twins(session: Session, producer: Principal, publications: Sequence[Publication]) -> Twins:
    """Earlier publications with these keys. ValidationFailed where a call names one twice."""
    named: set[tuple[bytes, bytes]] = set()
    for index, publication in numbered(publications):
        if publication.idempotency_key is None:
            continue
        if publication.more:
            raise ValueError("one idempotency_key cannot stand for several messages")
        for recipient_id in publication.recipients:
            name = (recipient_id, hash_key(publication.idempotency_key))
            if name in named:
                raise ValidationFailed.at(
                    f"/events/{index}/idempotency_key",
                    "is named twice for one recipient: give each publication a key of its own",
                )
            named.add(name)
    if not named:
        return {}
    rows = session.connection().execute(
        select(
            publication_key.c.recipient_id,
            publication_key.c.key_hash,
            publication_key.c.event_id,
            publication_key.c.body_hash,
        ).where(
            publication_key.c.producer_id == producer.id,
            publication_key.c.recipient_id.in_(sorted({r for r, _ in named})),
            publication_key.c.key_hash.in_(sorted({k for _, k in named})),
        )
    )
    return {(r.recipient_id, r.key_hash): (r.event_id, r.body_hash) for r in rows}


def existing(
    session: Session, twin: tuple[bytes, bytes], publication: Publication, recipient_id: bytes
) -> Published:
    """The event that was made then, or IdempotencyKeyReused for another body."""
    event_id, body_hash = twin
    if body_hash != publication.body_hash():
        raise IdempotencyKeyReused(
            "This publication's idempotency_key was used with another body: take a new key."
        )
    found = locate.by_event_id(session, event_id)
    return Published(
        event_id=event_id,
        recipient_id=recipient_id,
        gate=found.gate,
        sequence_number=found.sequence_number,
        existing=True,
    )


def key_row(
    session: Session,
    producer: Principal,
    publication: Publication,
    event: Published,
    available_at: datetime,
) -> dict[str, object]:
    """The row that makes a publication's key known."""
    kept = timedelta(seconds=rules(session).retention_seconds) + KEPT_LONGER
    return {
        "producer_id": producer.id,
        "recipient_id": event.recipient_id,
        "key_hash": hash_key(publication.idempotency_key or ""),
        "body_hash": publication.body_hash(),
        "event_id": event.event_id,
        "keep_until": available_at + kept,
    }
