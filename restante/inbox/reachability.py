"""How a recipient can be reached just now. A hint for producers, counted a few times a second."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, bindparam, exists, func, literal, select
from sqlalchemy.orm import Session

from restante.inbox.envelope import instant
from restante.inbox.lifecycle import PENDING_GATES
from restante.inbox.polling import STREAM_ALIVE, STREAM_OPEN_MS
from restante.storage.clock import offset, utc_now
from restante.storage.statement import Statement
from restante.storage.tables.callbacks import callback
from restante.storage.tables.events import agent_inbox
from restante.storage.tables.identity import project
from restante.storage.tables.inboxes import inbox, presence
from restante.storage.tables.signals import node, open_stream

MOST_RECIPIENTS = 10
"""A publication to more is not told."""

COUNTED = 10_000
POLLS = timedelta(milliseconds=STREAM_OPEN_MS * 2)
"""Seen within this time, an agent polls; the server never asks for a longer pause than half of it."""

_FRESH_SECONDS = 1.0
_LOOKS = 5
"""At one recipient in that time; who is published to more often is told what that adds up to."""
_KEPT = 10_000


@dataclass(slots=True)
class _Known:
    at: float
    looks: int
    told: dict[str, Any]


class Reachability:
    """What one process knows of recipients that are published to often, its own events added."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._known: dict[bytes, _Known] = {}

    def of(self, session: Session, arrived: Mapping[bytes, int]) -> dict[bytes, dict[str, Any]]:
        """`arrived`: {recipient: its new pending events} → {recipient: {mode, last_seen_at, …}}.

        `mode`: stream, callback, poll or away; `pending`, with `capped`. After the events are written.
        """
        now = self._clock()
        if len(self._known) > _KEPT:
            self._known.clear()
        told = {}
        for recipient_id, new in arrived.items():
            known = self._known.get(recipient_id)
            if known is None or now - known.at > _FRESH_SECONDS:
                known = self._known[recipient_id] = _Known(now, 1, reach(session, recipient_id))
            elif known.looks < _LOOKS:
                known.looks, known.told = known.looks + 1, reach(session, recipient_id)
            else:
                pending = min(known.told["pending"] + new, COUNTED)
                known.told = {**known.told, "pending": pending}
            told[recipient_id] = known.told
        return told


def reach(session: Session, recipient_id: bytes) -> dict[str, Any]:
    """{mode, last_seen_at, pending, capped?} of one recipient, looked up now."""
    return reach_many(session, [recipient_id])[recipient_id]


def reach_many(session: Session, recipient_ids: Sequence[bytes]) -> dict[bytes, dict[str, Any]]:
    """The same of several, asked together → by recipient."""
    found = _LOOK.rows_of_each(session, [{"recipient": one} for one in recipient_ids])
    return {
        one: _told(row, row.now + offset(session))
        for one, (row,) in zip(recipient_ids, found, strict=True)
    }


def _told(row: Any, now: datetime) -> dict[str, Any]:
    told: dict[str, Any] = {
        "mode": _mode(now, row.stream_seen_at, row.last_seen_at, called=bool(row.called)),
        "last_seen_at": instant(row.last_seen_at),
        "pending": min(row.pending, COUNTED),
    }
    return told | {"capped": True} if row.pending > COUNTED else told


def _mode(
    now: datetime, stream_seen_at: datetime | None, last_seen_at: datetime | None, *, called: bool
) -> str:
    """The fastest of the ways in which it learns that something is there."""
    if stream_seen_at is not None and now - stream_seen_at < STREAM_ALIVE:
        return "stream"
    if called:
        return "callback"
    return "poll" if last_seen_at is not None and now - last_seen_at < POLLS else "away"


def is_called(agent_id: Any) -> ColumnElement[bool]:
    """Whether a callback of the agent is active, and its receiver was not found dead."""
    return exists().where(
        callback.c.agent_id == agent_id,
        callback.c.status == "active",
        callback.c.circuit != "open",
    )


_PENDING = (
    select(literal(1).label("one"))
    # without the hint it is looked for through all that the inbox has ever had
    .with_hint(agent_inbox, "FORCE INDEX (claim)", "mysql")
    .select_from(inbox)
    .join(project, project.c.tenant_id == inbox.c.tenant_id)
    .join(
        agent_inbox,
        (agent_inbox.c.recipient_id == inbox.c.recipient_id)
        & (agent_inbox.c.project_id == project.c.project_id)
        & agent_inbox.c.gate.in_([gate.value for gate in PENDING_GATES]),
    )
    .where(inbox.c.recipient_id == bindparam("recipient"))
    .limit(COUNTED + 1)
    .subquery()
)
_LOOK = Statement(
    select(
        utc_now().label("now"),
        select(presence.c.last_seen_at)
        .where(presence.c.recipient_id == bindparam("recipient"))
        .scalar_subquery()
        .label("last_seen_at"),
        select(func.max(node.c.seen_at))
        .select_from(open_stream)
        .join(node, node.c.node_id == open_stream.c.node_id)
        .where(open_stream.c.recipient_id == bindparam("recipient"))
        .scalar_subquery()
        .label("stream_seen_at"),
        is_called(bindparam("recipient")).label("called"),
        select(func.count()).select_from(_PENDING).scalar_subquery().label("pending"),
    )
)
