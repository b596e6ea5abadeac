"""Amend: a corrected event in the place of a quarantined one, in one transaction.

The corrected one is new: its own id, the next sequence, `corrects` naming the old one, which is
discarded and says in its timeline what took its place.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson
from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from restante.audit.actions import ActorKind
from restante.audit.entries import Actor
from restante.errors import RestanteError
from restante.inbox import failures, quarantine
from restante.inbox.envelope import Options, instant
from restante.inbox.place import lock_inboxes, place
from restante.inbox.publication import Arrival, hash_key
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, decode_id, encode_id, new_id
from restante.storage.tables.events import event_correlation
from restante.storage.tables.identity import principal


class IsAssigned(RestanteError):
    """A work assignment is not amended, since its assignment waits for this very event: assign anew."""


def amend(
    session: Session,
    tenant_id: bytes,
    event_id: bytes,
    payload: bytes | Callable[[bytes], bytes],
    *,
    by: Actor,
    reason: str,
    force: bool = False,
    corrected: int = 0,
) -> bytes:
    """Publish the event anew with this payload and discard the old one → the new one's id.

    `payload`: that of the new one, or what makes it of the old one's. `corrected`: how many were
    corrected with it before, which of its key are later and may be settled.

    All else is as it was (an expiry that has passed is not); nobody's report is kept, since it has
    another producer. Raises what `payload` does, NotFound, quarantine.NotQuarantined, quarantine.Superseded,
    quarantine.RecipientGone, IsAssigned and, but for `force`, quarantine.LaterSettled and
    quarantine.BeyondDedupHorizon.
    """
    found = quarantine.find_quarantined(session, tenant_id, event_id)
    # lock order: the inbox row, then the key, then the event
    head = lock_inboxes(session, [found.recipient_id])[found.recipient_id].head
    row, keys = quarantine.lock_quarantined(session, found)
    if failures.superseded_by(session, event_id) is not None:
        raise quarantine.Superseded
    if row.claim_only:
        raise IsAssigned
    quarantine.check_there(session, found.recipient_id)
    if not force:
        quarantine.check_in_time(session, found, keys, head, corrected=corrected)
    now, old, made = database_now(session), found.row, new_id()
    if callable(payload):
        payload = payload(old.payload or b"")
    because = f"corrected by {encode_id(Prefix.EVENT, made)}: {reason}"
    quarantine.give_up(session, row, keys, now, actor=by.id or by.kind, reason=because)
    envelope = orjson.loads(old.envelope)
    envelope |= {
        "producer": _producer(session, by),
        "created_at": instant(now),
        "corrects": encode_id(Prefix.EVENT, event_id),
    }
    arrival = Arrival(
        event_id=made,
        recipient_id=found.recipient_id,
        project_id=found.project_id,
        rank=old.rank,
        max_attempts=row.max_attempts,
        key_hash=row.key_hash,
        available_at=now,
        expires_at=row.expires_at if row.expires_at and row.expires_at > now else None,
        envelope=orjson.dumps(envelope),
        options=replace(Options.load(old.options), report=frozenset()).dump(),
        payload=payload,
    )
    if envelope["correlation_id"] is not None:
        session.connection().execute(
            insert(event_correlation),
            {
                "tenant_id": tenant_id,
                "correlation_hash": hash_key(envelope["correlation_id"]),
                "event_id": made,
            },
        )
    place(session, [arrival], {found.recipient_id: head}, now)
    return made


def _producer(session: Session, by: Actor) -> dict[str, Any]:
    """Who amends, as the envelope names him. An operator is no more than that to an agent."""
    name: str | None = "operator"
    if by.kind is ActorKind.SERVICE:
        named = select(principal.c.name).where(
            principal.c.principal_id == decode_id(Prefix.SERVICE, by.id or "")
        )
        name = session.connection().execute(named).scalar()
    return {"kind": by.kind, "id": by.id, "name": name or by.id, "signed": False}
