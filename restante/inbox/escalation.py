"""Unread for too long: told once an event, to an agent of the project or to the operators.

Unread is what is pending, was never claimed, and lies beyond how far its agent has read. A mark per
inbox and project says how far was looked, so that no event is looked at twice and none carries a
timer of its own. Event rows are read and not locked: claims never meet this. Lock order: the inbox
row of the agent that is told, then the mark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
from sqlalchemy import Select, bindparam, case, func, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from restante.inbox.envelope import instant
from restante.inbox.escalation_policy import Policy, holds
from restante.inbox.lifecycle import PENDING_GATES
from restante.inbox.place import lock_inboxes, place
from restante.inbox.publication import Arrival
from restante.inbox.reports import server_envelope
from restante.inbox.rules import rules
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, encode_id, new_ids
from restante.storage.tables.events import agent_inbox, event_content
from restante.storage.tables.inboxes import inbox, presence
from restante.storage.tables.unread import unread_escalation, unread_mark
from restante.storage.transaction import Repeat

TYPE = "unread_escalation"
EXAMINED = 500
"""Events looked at in one transaction."""


@dataclass(frozen=True, slots=True)
class Escalated:
    """How many events were told of, and whether there may be more to look at."""

    events: int
    has_more: bool


def waiting_inboxes(
    session: Session, policy: Policy, *, limit: int, after: bytes = b""
) -> list[bytes]:
    """Inboxes with events that are old enough and were not looked at, by id after `after`."""
    rows = session.connection().execute(
        _WAITING,
        {
            "tenant": policy.tenant_id,
            "project": policy.project_id,
            "after": after,
            "old": database_now(session) - policy.after,
            "most": limit,
        },
    )
    return list(rows.scalars())


def escalate(session: Session, policy: Policy, recipient_id: bytes) -> Escalated:
    """Tell of the unread events of an inbox that are old enough, and move its mark past them.

    The operators are told of what is unread in the inbox of the very agent that others' is told to,
    and of all where that agent is removed or has lost the project.
    """
    connection = session.connection()
    told = policy.agent_id
    if told == recipient_id or (
        told is not None and not holds(session, policy.tenant_id, told, policy.slug)
    ):
        told = None
    head = None if told is None else lock_inboxes(session, [told])[told].head
    mark = _lock_mark(session, policy, recipient_id)
    now = database_now(session)
    rows = connection.execute(_NEXT, {"recipient": recipient_id, "mark": mark}).all()
    ripe = []
    for row in rows:
        if row.available_at > now - policy.after:
            break
        ripe.append(row)
    if not ripe:
        return Escalated(0, has_more=False)
    read_to = connection.execute(
        select(presence.c.read_cursor).where(presence.c.recipient_id == recipient_id)
    ).scalar()
    unread = [
        row
        for row in ripe
        if row.project_id == policy.project_id
        and row.gate in _PENDING
        and row.first_claimed_at is None
        and row.sequence_number > (read_to or 0)
        and (row.expires_at is None or row.expires_at > now)
    ]
    connection.execute(
        update(unread_mark)
        .where(
            unread_mark.c.recipient_id == recipient_id,
            unread_mark.c.project_id == policy.project_id,
        )
        .values(sequence_number=ripe[-1].sequence_number)
    )
    if unread:
        ids = new_ids(len(unread)) if told is not None else [None] * len(unread)
        _note(session, policy, unread, told, ids, now)
        if told is not None and head is not None:
            arrivals = _arrivals(session, policy, unread, told, ids, now)
            place(session, arrivals, {told: head}, now)
    return Escalated(len(unread), has_more=len(ripe) == EXAMINED)


def _lock_mark(session: Session, policy: Policy, recipient_id: bytes) -> int:
    """How far was looked; the row is locked, and made where it is missing."""
    connection = session.connection()
    of = (
        unread_mark.c.recipient_id == recipient_id,
        unread_mark.c.project_id == policy.project_id,
    )
    found = connection.execute(
        select(unread_mark.c.sequence_number).where(*of).with_for_update()
    ).scalar()
    floor = connection.execute(
        select(inbox.c.oldest_cursor).where(inbox.c.recipient_id == recipient_id)
    ).scalar_one()
    if found is None:
        try:
            connection.execute(
                insert(unread_mark),
                {
                    "recipient_id": recipient_id,
                    "project_id": policy.project_id,
                    "sequence_number": floor,
                },
            )
        except IntegrityError:
            raise Repeat from None
    mark: int = max(found or 0, floor)
    return mark


def _note(
    session: Session,
    policy: Policy,
    unread: Sequence[Any],
    told: bytes | None,
    ids: Sequence[bytes | None],
    now: datetime,
) -> None:
    session.connection().execute(
        insert(unread_escalation),
        [
            {
                "event_id": row.event_id,
                "tenant_id": policy.tenant_id,
                "project_id": policy.project_id,
                "recipient_id": row.recipient_id,
                "noted_at": now,
                "escalated_to": told,
                "escalation_event_id": event_id,
            }
            for row, event_id in zip(unread, ids, strict=True)
        ],
    )


def _arrivals(
    session: Session,
    policy: Policy,
    unread: Sequence[Any],
    told: bytes,
    ids: Sequence[bytes | None],
    now: datetime,
) -> list[Arrival]:
    contents = session.connection().execute(
        select(event_content.c.sequence_number, event_content.c.envelope).where(
            event_content.c.recipient_id == unread[0].recipient_id,
            event_content.c.sequence_number.in_([row.sequence_number for row in unread]),
        )
    )
    envelopes = {row.sequence_number: orjson.loads(row.envelope) for row in contents}
    return [
        Arrival(
            event_id=event_id or b"",
            recipient_id=told,
            project_id=policy.project_id,
            rank=0,
            max_attempts=rules(session).max_attempts,
            key_hash=None,
            available_at=now,
            expires_at=None,
            envelope=orjson.dumps(server_envelope(of, row.event_id, now, type=TYPE)),
            options=None,
            payload=_payload(row, of, now),
        )
        for row, event_id in zip(unread, ids, strict=True)
        for of in [envelopes[row.sequence_number]]
    ]


def _payload(row: Any, of: dict[str, Any], now: datetime) -> bytes:
    """What is unread, without its own payload, which is its recipient's."""
    return orjson.dumps(
        {
            "type": TYPE,
            "event_id": encode_id(Prefix.EVENT, row.event_id),
            "recipient_id": encode_id(Prefix.AGENT, row.recipient_id),
            "event_type": of["type"],
            "priority": of["priority"],
            "available_at": instant(row.available_at),
            "unread_seconds": int((now - row.available_at).total_seconds()),
        }
    )


_PENDING = frozenset(gate.value for gate in PENDING_GATES)
_MARK = func.coalesce(unread_mark.c.sequence_number, 0)
_FROM = case((inbox.c.oldest_cursor < _MARK, _MARK), else_=inbox.c.oldest_cursor)
_FIRST = (
    select(agent_inbox.c.available_at)
    .with_hint(agent_inbox, "FORCE INDEX (PRIMARY)", "mysql")
    .where(
        agent_inbox.c.recipient_id == inbox.c.recipient_id,
        agent_inbox.c.sequence_number > _FROM,
    )
    .order_by(agent_inbox.c.sequence_number)
    .limit(1)
    .correlate(inbox, unread_mark)
    .scalar_subquery()
)
_WAITING: Select[Any] = (
    select(inbox.c.recipient_id)
    .outerjoin(
        unread_mark,
        (unread_mark.c.recipient_id == inbox.c.recipient_id)
        & (unread_mark.c.project_id == bindparam("project")),
    )
    .where(
        inbox.c.tenant_id == bindparam("tenant"),
        inbox.c.recipient_id > bindparam("after"),
        inbox.c.head > _FROM,
        bindparam("old") >= _FIRST,
    )
    .order_by(inbox.c.recipient_id)
    .limit(bindparam("most"))
)
_NEXT = (
    select(
        agent_inbox.c.recipient_id,
        agent_inbox.c.sequence_number,
        agent_inbox.c.event_id,
        agent_inbox.c.project_id,
        agent_inbox.c.gate,
        agent_inbox.c.available_at,
        agent_inbox.c.expires_at,
        agent_inbox.c.first_claimed_at,
    )
    .with_hint(agent_inbox, "FORCE INDEX (PRIMARY)", "mysql")
    .where(
        agent_inbox.c.recipient_id == bindparam("recipient"),
        agent_inbox.c.sequence_number > bindparam("mark"),
    )
    .order_by(agent_inbox.c.sequence_number)
    .limit(EXAMINED)
)
