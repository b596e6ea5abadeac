"""Cancel: what has not started is cancelled, a claim is asked to end, what is final stays."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import orjson
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from restante.audit.actions import Action
from restante.audit.chain import record
from restante.audit.entries import Entry
from restante.errors import EventFinal, InsufficientScope, NotFound
from restante.identity.administrators import Administrator
from restante.identity.principal import Principal
from restante.identity.roles import Right
from restante.identity.scopes import TenantScope, Verb
from restante.inbox import ending, failures, history, locate, ordering, reports
from restante.inbox.by_key import select_by_place, update_by_place
from restante.inbox.history import Kind
from restante.inbox.lifecycle import FINAL_GATES, STATUS_OF, Gate, Status
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, encode_id
from restante.storage.tables.events import agent_inbox, scheduled_event
from restante.storage.tables.inboxes import inbox

CANCEL_REQUESTED = "cancel_requested"


def cancel(session: Session, actor: Principal, event_id: bytes, reason: str) -> str:
    """Cancel an event of the tenant that the actor published, or any with tenant:events:cancel.

    → `cancelled`, or `cancel_requested` where somebody holds it: he learns it at his next renew,
    and any end but an ack cancels the event. Raises NotFound and EventFinal.
    """
    if not actor.has(TenantScope.EVENTS_CANCEL) and not actor.covered(Verb.PUBLISH):
        raise InsufficientScope(TenantScope.EVENTS_CANCEL)
    found = locate.by_event_id(session, event_id)
    check_visible(session, actor, found, TenantScope.EVENTS_CANCEL)
    return _cancel(session, actor.public_id, found, reason)


def cancel_for(
    session: Session, administrator: Administrator, event_id: bytes | None, reason: str
) -> str:
    """Cancel an event of the tenant for who administers it → as `cancel`. Raises NotFound, EventFinal."""
    administrator.require(Right.EVENTS_CANCEL)
    found = locate.of_tenant(session, administrator.tenant_id, event_id)
    actor = administrator.by.actor
    ended = _cancel(session, actor.id or actor.kind, found, reason)
    target = encode_id(Prefix.EVENT, found.event_id)
    by = administrator.by
    record(session, Entry(administrator.tenant_id, by, Action.EVENT_CANCEL, target, reason=reason))
    return ended


def withdraw(
    session: Session, event_id: bytes, *, by: str, reason: str, only_unread: bool = False
) -> str | None:
    """Cancel an event for one who may, whoever published it → as `cancel`.

    `only_unread`: None, and nothing is changed, where it was ever claimed. Raises NotFound and
    EventFinal.
    """
    found = locate.by_event_id(session, event_id)
    if found.table != "agent_inbox":
        raise EventFinal(event_status=STATUS_OF[found.gate])
    return _cancel_placed(session, by, found, reason, only_unread=only_unread)


def check_visible(
    session: Session,
    actor: Principal,
    found: locate.Located,
    tenant_wide: TenantScope,
    *,
    verbs: tuple[Verb, ...] = (Verb.PUBLISH,),
) -> None:
    """NotFound unless the event is the actor's own publication, or its tenant's with the scope.

    Its own in a project that one of `verbs` covers.
    """
    tenant_id = session.connection().execute(
        select(inbox.c.tenant_id).where(inbox.c.recipient_id == found.recipient_id)
    )
    if tenant_id.scalar() != actor.tenant_id:
        raise NotFound
    if actor.has(tenant_wide):
        return
    producer = orjson.loads(found.row.envelope)["producer"]
    covered = {project.id for verb in verbs for project in actor.covered(verb)}
    if producer["id"] != actor.public_id or found.project_id not in covered:
        raise NotFound


def _cancel(session: Session, actor: str, found: locate.Located, reason: str) -> str:
    if found.table == "scheduled_event" and _cancel_scheduled(
        session, actor, found.event_id, reason
    ):
        return Status.CANCELLED
    if found.sequence_number is None:  # it became due in between, or was cancelled before
        found = locate.by_event_id(session, found.event_id)
    if found.table != "agent_inbox":
        raise EventFinal(event_status=STATUS_OF[found.gate])
    return _cancel_placed(session, actor, found, reason) or Status.CANCELLED


def _cancel_scheduled(session: Session, actor: str, event_id: bytes, reason: str) -> bool:
    connection = session.connection()
    row = connection.execute(
        select(scheduled_event).where(scheduled_event.c.event_id == event_id).with_for_update()
    ).first()
    if row is None or row.gate != Gate.SCHEDULED:
        return False
    now = database_now(session)
    connection.execute(
        update(scheduled_event)
        .where(scheduled_event.c.event_id == event_id)
        .values(gate=Gate.CANCELLED, due_at=None, final_at=now)
    )
    _note(session, actor, event_id, Kind.CANCELLED, now, reason, generation=0)
    reports.report_content(session, row, row, Gate.CANCELLED, now, reason=reason)
    return True


def _cancel_placed(
    session: Session,
    actor: str,
    found: locate.Located,
    reason: str,
    *,
    only_unread: bool = False,
) -> str | None:
    """Keys first, then the row, then the clock."""
    name = (found.recipient_id, found.project_id, found.row.key_hash)
    keys = ordering.lock_keys(session, [name]) if found.row.key_hash is not None else {}
    row: Any = (
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
    if row is None:
        raise EventFinal(event_status=STATUS_OF[found.gate])
    now = database_now(session)
    gate = Gate(row.gate)
    if gate in FINAL_GATES:
        raise EventFinal(event_status=STATUS_OF[gate])
    generation = row.claim_generation
    if only_unread and generation:
        return None
    if gate is Gate.CLAIMED and row.claim_expires_at > now:
        session.connection().execute(
            update_by_place()
            .where(
                agent_inbox.c.recipient_id == row.recipient_id,
                agent_inbox.c.sequence_number == row.sequence_number,
            )
            .values(cancel_requested=True)
        )
        _note(session, actor, row.event_id, Kind.CANCEL_REQUESTED, now, reason, generation)
        return CANCEL_REQUESTED
    if gate is Gate.QUARANTINED:
        failures.leave_quarantine(session, row.event_id)
    _note(session, actor, row.event_id, Kind.CANCELLED, now, reason, generation)
    ending.finish(session, row, Gate.CANCELLED, now, keys, reason=reason)
    return Status.CANCELLED


def _note(
    session: Session,
    actor: str,
    event_id: bytes,
    kind: Kind,
    now: datetime,
    reason: str,
    generation: int,
) -> None:
    history.note(
        session,
        event_id,
        kind,
        now,
        generation=generation,
        reason=reason,
        actor=actor,
    )
