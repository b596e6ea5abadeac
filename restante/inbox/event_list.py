"""A tenant's events, the newest first: of one inbox, or of those that last received something.

No index has all events of a tenant by time, so inboxes are walked back from their heads by their own
primary key, and merged. A page looks at EXAMINED events at most, and says so where that ended it.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import orjson
from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from restante.identity.administrators import Administrator
from restante.identity.roles import Right
from restante.inbox.browse import status_gate
from restante.inbox.inspection import Brief
from restante.inbox.lifecycle import STATUS_OF, Gate, Status
from restante.storage import page_token
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, encode_id
from restante.storage.tables.events import agent_inbox, event_content
from restante.storage.tables.inboxes import inbox

EXAMINED = 500
"""What is rare is looked for over several pages, none of which takes much longer than one that is full."""
INBOXES = 30
"""So many are merged, those that last received something."""
FIRST = 20
CHUNK = 250


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """All that is given holds. `since`: available then or later; UTC."""

    recipient_id: bytes | None = None
    project_id: bytes | None = None
    type: str | None = None
    status: Status | None = None
    since: datetime | None = None

    @property
    def narrows(self) -> bool:
        """Events may have to be passed over."""
        return any(one is not None for one in (self.project_id, self.type, self.status))


@dataclass(frozen=True, slots=True, kw_only=True)
class Browsed(Brief):
    """An event of the list."""

    project: str
    producer: str
    attempts: int
    max_attempts: int
    available_at: datetime


@dataclass(frozen=True, slots=True)
class EventPage:
    """`cut`: it ended because it had looked at EXAMINED events. `some`: there are other inboxes."""

    events: list[Browsed]
    next_page_token: str | None
    cut: bool
    some: bool


def list_tenant_events(
    session: Session,
    administrator: Administrator,
    wanted: Wanted,
    *,
    limit: int,
    token: str | None = None,
) -> EventPage:
    """A page of those that have a sequence number. Raises PageTokenInvalid.

    What is scheduled has none, and what is archived has left its inbox's log.
    """
    administrator.require(Right.EVENTS_READ)
    # "the last hour" begins later on the next page, which is the same list
    of = ("events", administrator.tenant_id.hex(), repr(replace(wanted, since=None)))
    place = page_token.take(session, of, token)
    if place is None:
        below, some = _heads(session, administrator.tenant_id, wanted.recipient_id)
    else:
        below, some = {bytes.fromhex(id_): seq for id_, seq in place[0]}, place[1]
    now = database_now(session)
    chunk = min(CHUNK, max(FIRST, EXAMINED // max(1, len(below)))) if wanted.narrows else limit
    walks = [_walk(session, id_, seq, wanted.since, chunk) for id_, seq in below.items()]
    merged = heapq.merge(*walks, key=lambda row: (row.available_at, row.event_id), reverse=True)
    events: list[Browsed] = []
    for examined, row in enumerate(merged):
        fits = _fits(row, wanted, now)
        cut = examined >= EXAMINED
        if cut or (fits and len(events) == limit):
            left = [[id_.hex(), seq] for id_, seq in below.items() if seq > 1]
            return EventPage(events, page_token.give(session, of, [left, some]), cut, some)
        below[row.recipient_id] = row.sequence_number
        if fits:
            events.append(_browsed(row, now))
    return EventPage(events, None, cut=False, some=some)


def _heads(
    session: Session, tenant_id: bytes, recipient_id: bytes | None
) -> tuple[dict[bytes, int], bool]:
    """{inbox: below which number to begin} and whether the tenant has others."""
    asked = select(inbox.c.recipient_id, inbox.c.head).where(
        inbox.c.tenant_id == tenant_id, inbox.c.head > 0
    )
    if recipient_id is not None:
        asked = asked.where(inbox.c.recipient_id == recipient_id)
    rows = (
        session.connection()
        .execute(asked.order_by(inbox.c.changed_at.desc()).limit(INBOXES + 1))
        .all()
    )
    return {row.recipient_id: row.head + 1 for row in rows[:INBOXES]}, len(rows) > INBOXES


def _walk(
    session: Session, recipient_id: bytes, below: int, since: datetime | None, chunk: int
) -> Iterator[Any]:
    """The inbox's events below a number, backwards, fetched as they are wanted."""
    most = FIRST
    while True:
        values = {"recipient": recipient_id, "below": below, "most": most}
        rows = session.connection().execute(_BACK, values).all()
        for row in rows:
            if since is not None and row.available_at < since:
                return
            yield row
        if len(rows) < most:
            return
        below, most = rows[-1].sequence_number, chunk


def _fits(row: Any, wanted: Wanted, now: datetime) -> bool:
    if wanted.project_id is not None and row.project_id != wanted.project_id:
        return False
    if wanted.status is not None and _status(row, now) is not wanted.status:
        return False
    return wanted.type is None or orjson.loads(row.envelope)["type"] == wanted.type


def _status(row: Any, now: datetime) -> Status:
    return STATUS_OF[status_gate(row, Gate(row.gate), now)]


def _browsed(row: Any, now: datetime) -> Browsed:
    envelope = orjson.loads(row.envelope)
    producer = envelope["producer"]
    return Browsed(
        event_id=encode_id(Prefix.EVENT, row.event_id),
        recipient_id=encode_id(Prefix.AGENT, row.recipient_id),
        sequence_number=row.sequence_number,
        status=_status(row, now),
        type=envelope["type"],
        created_at=datetime.fromisoformat(envelope["created_at"].removesuffix("Z")),
        project=envelope["project"],
        producer=producer.get("name") or producer.get("id") or producer["kind"],
        attempts=row.attempts,
        max_attempts=row.max_attempts,
        available_at=row.available_at,
    )


_SHOWN = (
    *("recipient_id", "sequence_number", "event_id", "project_id", "gate"),
    *("attempts", "max_attempts", "claim_expires_at", "available_at", "expires_at", "due_at"),
)
_BACK = (
    select(*(agent_inbox.c[name] for name in _SHOWN), event_content.c.envelope)
    .with_hint(agent_inbox, "FORCE INDEX (PRIMARY)", "mysql")
    .join(
        event_content,
        (event_content.c.recipient_id == agent_inbox.c.recipient_id)
        & (event_content.c.sequence_number == agent_inbox.c.sequence_number),
    )
    .where(
        agent_inbox.c.recipient_id == bindparam("recipient"),
        agent_inbox.c.sequence_number < bindparam("below"),
    )
    .order_by(agent_inbox.c.sequence_number.desc())
    .limit(bindparam("most"))
)
