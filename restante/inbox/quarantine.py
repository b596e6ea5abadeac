"""Quarantine: redrive an event with a reason and a name, or discard it. Nothing deletes it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from restante.errors import RestanteError
from restante.inbox import ending, failures, history, locate, ordering
from restante.inbox.by_key import select_by_place, update_by_place
from restante.inbox.history import Kind
from restante.inbox.lifecycle import Gate
from restante.inbox.place import lock_inboxes
from restante.signals.rings import ring
from restante.storage.clock import database_now
from restante.storage.tables.events import agent_inbox
from restante.storage.tables.identity import principal
from restante.storage.tables.inboxes import inbox, ordering_waiting


class NotQuarantined(RestanteError):
    """The event is not in quarantine (any more): nothing was changed."""


class RecipientGone(RestanteError):
    """Its agent is removed, so nobody would claim it: discard it."""


class LaterSettled(RestanteError):
    """Later events of its ordering key are settled: force it, if running late is right."""


class Superseded(RestanteError):
    """The work went on in another event: to do it here as well would do it twice."""


class BeyondDedupHorizon(RestanteError):
    """Its agent may have forgotten that it worked it: force it, if working it twice is right."""


DEDUP_HORIZON = 10_000
"""An agent remembers so many settled events (contract 9): of an older one it may not know any more."""


def redrive(
    session: Session,
    tenant_id: bytes,
    event_id: bytes,
    *,
    actor: str,
    reason: str,
    force: bool = False,
) -> None:
    """Put a quarantined event back: same id, sequence and generation, a new attempt budget.

    With an ordering key it joins those that wait, or stays the head its project held. Raises
    NotFound (also for another tenant's), NotQuarantined, Superseded, RecipientGone, LaterSettled,
    BeyondDedupHorizon.
    """
    found = find_quarantined(session, tenant_id, event_id)
    # lock order: the inbox row, for the bound of what waits, then the key, then the event
    head = lock_inboxes(session, [found.recipient_id])[found.recipient_id].head
    row, keys = lock_quarantined(session, found)
    if failures.superseded_by(session, event_id) is not None:
        raise Superseded
    check_there(session, found.recipient_id)
    if not force:
        check_in_time(session, found, keys, head)
    now = database_now(session)
    key = keys.get(ending.key_name(row)) if row.key_hash is not None else None
    gate, waits = Gate.CLAIMABLE, False
    values: dict[str, Any] = {"attempts": 0, "releases": 0, "redriven": True}
    if key is not None and key.head_sequence is None:
        key.head_sequence = row.sequence_number
        ordering.save_keys(session, [key])
        # a head that its project held goes on from its own fences, which the key does not know yet
        values["fence_base"] = key.fence - row.claim_generation
    elif key is not None and key.head_sequence != row.sequence_number:
        gate, waits = Gate.WAITING, True
    values["gate"] = gate
    if row.expires_at is not None and row.expires_at <= now:
        values["expires_at"] = None
    else:
        values["due_at"] = row.expires_at
    connection = session.connection()
    connection.execute(
        update_by_place()
        .where(
            agent_inbox.c.recipient_id == row.recipient_id,
            agent_inbox.c.sequence_number == row.sequence_number,
        )
        .values(values)
    )
    if waits and key is not None:
        ordering.wait(session, [(key, row.sequence_number)])
    connection.execute(
        update(inbox)
        .where(inbox.c.recipient_id == row.recipient_id)
        .values(unsettled_bound=inbox.c.unsettled_bound + 1)
    )
    failures.leave_quarantine(session, event_id)
    _note(session, row, Kind.REDRIVEN, now, reason, actor)
    ring(session, row.recipient_id, row.project_id)


def discard(
    session: Session, tenant_id: bytes, event_id: bytes, *, actor: str, reason: str
) -> None:
    """Give a quarantined event up: cancelled, its payload kept until it is archived."""
    found = find_quarantined(session, tenant_id, event_id)
    row, keys = lock_quarantined(session, found)
    give_up(session, row, keys, database_now(session), actor=actor, reason=reason)


def give_up(
    session: Session, row: Any, keys: ending.Keys, now: datetime, *, actor: str, reason: str
) -> None:
    """Cancel a quarantined event whose row is locked."""
    _note(session, row, Kind.DISCARDED, now, reason, actor)
    failures.leave_quarantine(session, row.event_id)
    ending.finish(session, row, Gate.CANCELLED, now, keys, reason=reason)


def check_there(session: Session, recipient_id: bytes) -> None:
    """RecipientGone where nobody would claim what is put back."""
    asked = select(principal.c.status).where(principal.c.principal_id == recipient_id)
    if session.connection().execute(asked).scalar() == "removed":
        raise RecipientGone


def check_in_time(
    session: Session, found: locate.Located, keys: ending.Keys, head: int, *, corrected: int = 0
) -> None:
    """BeyondDedupHorizon or LaterSettled where it takes force. Its inbox and its key are locked.

    `corrected`: so many later ones of its key may be corrections that were asked for with it.
    """
    row = found.row
    if head - row.sequence_number > DEDUP_HORIZON:
        raise BeyondDedupHorizon
    key = keys.get(ending.key_name(row)) if row.key_hash is not None else None
    if key is not None and later_settled(session, row, key) > corrected:
        raise LaterSettled


def later_settled(session: Session, row: Any, key: ordering.Key) -> int:
    """How many later events of its key are final: the event would run after them."""
    connection = session.connection()
    quarantined = connection.execute(
        select(func.count())
        .select_from(agent_inbox)
        .where(
            agent_inbox.c.recipient_id == key.recipient_id,
            agent_inbox.c.project_id == key.project_id,
            agent_inbox.c.gate == Gate.QUARANTINED.value,
            agent_inbox.c.key_hash == key.key_hash,
            agent_inbox.c.sequence_number > row.sequence_number,
            agent_inbox.c.sequence_number != (key.head_sequence or 0),
        )
    ).scalar_one()
    waiting = connection.execute(
        select(func.count())
        .select_from(ordering_waiting)
        .where(
            ordering_waiting.c.recipient_id == key.recipient_id,
            ordering_waiting.c.project_id == key.project_id,
            ordering_waiting.c.key_hash == key.key_hash,
            ordering_waiting.c.sequence_number > row.sequence_number,
        )
    ).scalar_one()
    head_is_later = (key.head_sequence or 0) > row.sequence_number
    later = key.ordering_sequence - row.ordering_sequence
    return int(later - quarantined - waiting - head_is_later)


def find_quarantined(session: Session, tenant_id: bytes, event_id: bytes) -> locate.Located:
    """Where the event is. Raises NotFound (also for another tenant's), NotQuarantined."""
    found = locate.of_tenant(session, tenant_id, event_id)
    if found.table != "agent_inbox":
        raise NotQuarantined
    return found


def lock_quarantined(session: Session, found: locate.Located) -> tuple[Any, ending.Keys]:
    """The key's row, then the event's, which must be in quarantine."""
    name = (found.recipient_id, found.project_id, found.row.key_hash)
    keys = ordering.lock_keys(session, [name]) if found.row.key_hash is not None else {}
    row = (
        session.connection()
        .execute(
            select_by_place(*ending.LOCKED)
            .where(
                agent_inbox.c.recipient_id == found.recipient_id,
                agent_inbox.c.sequence_number == found.sequence_number,
            )
            .with_for_update()
        )
        .first()
    )
    if row is None or Gate(row.gate) is not Gate.QUARANTINED:
        raise NotQuarantined
    return row, keys


def _note(session: Session, row: Any, kind: Kind, now: Any, reason: str, actor: str) -> None:
    history.note(
        session,
        row.event_id,
        kind,
        now,
        generation=row.claim_generation,
        reason=reason,
        actor=actor,
    )
