"""Giving events their place in the inbox: sequence numbers, under the lock of the inbox's row.

Lock order: inbox rows, then ordering-key rows, both ascending. So sequence order is commit order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import bindparam, func, select, update
from sqlalchemy.orm import Session

from restante.inbox import ordering
from restante.inbox.lifecycle import Gate
from restante.inbox.publication import Arrival
from restante.signals.rings import ring
from restante.storage.statement import Insert, Statement
from restante.storage.tables.events import agent_inbox, event_content
from restante.storage.tables.inboxes import inbox


def lock_inboxes(
    session: Session, recipient_ids: Collection[bytes], *, nowait: bool = False
) -> dict[bytes, Any]:
    """Lock inbox rows, ascending → {recipient id: row of (head, unsettled_bound)}."""
    statement = _LOCK_NOWAIT if nowait else _LOCK
    rows = statement.rows(session, {"recipients": sorted(recipient_ids)})
    return {row.recipient_id: row for row in rows}


def advance_one(
    session: Session, recipient_id: bytes, *, placed: int, limit: int, now: datetime
) -> int | None:
    """Lock an inbox and move its head by `placed`, in one statement.

    → the head before, or None where the bound would pass the limit (nothing is changed then, and
    `lock_inboxes` is the way), and on SQLite.
    """
    head = _ADVANCE_ONE.made_id(
        session,
        {
            "recipient": recipient_id,
            "placed": placed,
            "room": limit - placed,
            "changed": now,
        },
    )
    return None if head is None else head - placed


def place(
    session: Session,
    arrivals: Sequence[Arrival],
    heads: Mapping[bytes, int],
    now: datetime,
    *,
    advanced: bool = False,
) -> None:
    """Write events into the inboxes whose rows are locked, in the order given per inbox.

    `heads`: the last sequence given in each; `advanced`: their rows say so already. Rings for
    every inbox and project.
    """
    names = {(a.recipient_id, a.project_id, a.key_hash) for a in arrivals if a.key_hash}
    keys = ordering.open_keys(session, names) if names else {}
    next_number = dict(heads)
    plain: list[tuple[Any, ...]] = []
    special: list[tuple[Any, ...]] = []
    contents: list[tuple[Any, ...]] = []
    waiting: list[tuple[ordering.Key, int]] = []
    for arrival in arrivals:
        recipient_id = arrival.recipient_id
        number = next_number[recipient_id] = next_number[recipient_id] + 1
        gate, fence_base, ordering_sequence = Gate.CLAIMABLE, None, None
        if arrival.key_hash is not None:
            key = keys[recipient_id, arrival.project_id, arrival.key_hash]
            key.ordering_sequence += 1
            ordering_sequence = key.ordering_sequence
            if key.head_sequence is None:
                key.head_sequence, fence_base = number, key.fence
            else:
                gate = Gate.WAITING
                waiting.append((key, number))
        row = (
            recipient_id,
            number,
            arrival.event_id,
            arrival.project_id,
            gate,
            arrival.rank,
            len(arrival.payload),
            arrival.max_attempts,
            arrival.available_at,
        )
        claim_only = _CLAIM_ONLY in arrival.envelope
        if arrival.key_hash is None and arrival.expires_at is None and not claim_only:
            plain.append(row)
        else:
            special.append(
                (
                    *row,
                    arrival.key_hash,
                    ordering_sequence,
                    fence_base,
                    arrival.expires_at,
                    arrival.expires_at,
                    claim_only,
                )
            )
        contents.append((recipient_id, number, arrival.envelope, arrival.options, arrival.payload))
        if arrival.published is not None:
            arrival.published.sequence_number = number
            arrival.published.gate = gate
    _PLAIN.later(session, plain)
    _SPECIAL.later(session, special)
    _CONTENT.later(session, contents)
    if keys:
        ordering.wait(session, waiting)
        ordering.save_keys(session, keys.values())
    if not advanced:
        _advance(session, heads, next_number, now)
    for recipient_id, project_id in {(a.recipient_id, a.project_id) for a in arrivals}:
        ring(session, recipient_id, project_id, head=next_number[recipient_id])


def _advance(
    session: Session, heads: Mapping[bytes, int], ends: Mapping[bytes, int], now: datetime
) -> None:
    """Move the heads; inboxes that move by as much share a statement."""
    by_step: dict[int, list[bytes]] = defaultdict(list)
    for recipient_id, end in ends.items():
        by_step[end - heads[recipient_id]].append(recipient_id)
    for step, recipient_ids in by_step.items():
        if step:
            _ADVANCE.later(
                session, {"recipients": sorted(recipient_ids), "step": step, "changed": now}
            )


_CLAIM_ONLY = b'"type":"work_assignment"'

_COLUMNS = (
    "recipient_id",
    "sequence_number",
    "event_id",
    "project_id",
    "gate",
    "rank",
    "payload_bytes",
    "max_attempts",
    "available_at",
)
_PLAIN = Insert(agent_inbox, *_COLUMNS)
_SPECIAL = Insert(
    agent_inbox,
    *_COLUMNS,
    "key_hash",
    "ordering_sequence",
    "fence_base",
    "expires_at",
    "due_at",
    "claim_only",
)
_CONTENT = Insert(
    event_content, "recipient_id", "sequence_number", "envelope", "options", "payload"
)
_ADVANCE = Statement(
    update(inbox)
    .where(inbox.c.recipient_id.in_(bindparam("recipients", expanding=True)))
    .values(
        head=inbox.c.head + bindparam("step"),
        unsettled_bound=inbox.c.unsettled_bound + bindparam("step"),
        changed_at=bindparam("changed"),
    )
)
_ADVANCE_ONE = Statement(
    update(inbox)
    .where(
        inbox.c.recipient_id == bindparam("recipient"),
        inbox.c.unsettled_bound <= bindparam("room"),
    )
    .values(
        head=func.last_insert_id(inbox.c.head + bindparam("placed")),
        unsettled_bound=inbox.c.unsettled_bound + bindparam("placed"),
        changed_at=bindparam("changed"),
    )
)
_ROWS = (
    select(inbox.c.recipient_id, inbox.c.head, inbox.c.unsettled_bound)
    .where(inbox.c.recipient_id.in_(bindparam("recipients", expanding=True)))
    .order_by(inbox.c.recipient_id)
)
_LOCK = Statement(_ROWS.with_for_update())
_LOCK_NOWAIT = Statement(_ROWS.with_for_update(nowait=True))
