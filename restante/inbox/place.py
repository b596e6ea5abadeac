"""Giving events their place in the inbox: sequence numbers, under the lock of the inbox's row.

Lock order: inbox rows, then ordering-key rows, both ascending. So sequence order is commit order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import bindparam, insert, select, update
from sqlalchemy.orm import Session

from restante.inbox import ordering
from restante.inbox.lifecycle import Gate
from restante.inbox.publication import Arrival
from restante.signals.rings import ring
from restante.storage.tables.events import agent_inbox, event_content
from restante.storage.tables.inboxes import inbox


def lock_inboxes(
    session: Session, recipient_ids: Collection[bytes], *, nowait: bool = False
) -> dict[bytes, Any]:
    """Lock inbox rows, ascending → {recipient id: row of (head, unsettled_bound)}."""
    rows = session.connection().execute(
        select(inbox.c.recipient_id, inbox.c.head, inbox.c.unsettled_bound)
        .where(inbox.c.recipient_id.in_(sorted(recipient_ids)))
        .order_by(inbox.c.recipient_id)
        .with_for_update(nowait=nowait)
    )
    return {row.recipient_id: row for row in rows}


def place(
    session: Session,
    arrivals: Sequence[Arrival],
    heads: Mapping[bytes, int],
    now: datetime,
) -> None:
    """Write events into the inboxes whose rows are locked, in the order given per inbox.

    `heads`: the last sequence given in each. Rings for every inbox and project.
    """
    keys = ordering.open_keys(
        session,
        {(a.recipient_id, a.project_id, a.key_hash) for a in arrivals if a.key_hash is not None},
    )
    next_number = dict(heads)
    rows, contents = [], []
    waiting: list[tuple[ordering.Key, int]] = []
    for arrival in arrivals:
        number = next_number[arrival.recipient_id] = next_number[arrival.recipient_id] + 1
        gate, fence_base, ordering_sequence = Gate.CLAIMABLE, None, None
        if arrival.key_hash is not None:
            key = keys[arrival.recipient_id, arrival.project_id, arrival.key_hash]
            key.ordering_sequence += 1
            ordering_sequence = key.ordering_sequence
            if key.head_sequence is None:
                key.head_sequence, fence_base = number, key.fence
            else:
                gate = Gate.WAITING
                waiting.append((key, number))
        rows.append(
            {
                "recipient_id": arrival.recipient_id,
                "sequence_number": number,
                "event_id": arrival.event_id,
                "project_id": arrival.project_id,
                "gate": gate,
                "rank": arrival.rank,
                "payload_bytes": len(arrival.payload),
                "max_attempts": arrival.max_attempts,
                "key_hash": arrival.key_hash,
                "ordering_sequence": ordering_sequence,
                "fence_base": fence_base,
                "available_at": arrival.available_at,
                "expires_at": arrival.expires_at,
                "due_at": arrival.expires_at,
                "claim_only": b'"type":"work_assignment"' in arrival.envelope,
            }
        )
        contents.append(
            {
                "recipient_id": arrival.recipient_id,
                "sequence_number": number,
                "envelope": arrival.envelope,
                "options": arrival.options,
                "payload": arrival.payload,
            }
        )
        if arrival.published is not None:
            arrival.published.sequence_number = number
            arrival.published.gate = gate
    connection = session.connection()
    connection.execute(insert(agent_inbox), rows)
    connection.execute(insert(event_content), contents)
    ordering.wait(session, waiting)
    ordering.save_keys(session, keys.values())
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
            session.connection().execute(
                _ADVANCE,
                {"recipients": sorted(recipient_ids), "step": step, "changed": now},
            )


_ADVANCE = (
    update(inbox)
    .where(inbox.c.recipient_id.in_(bindparam("recipients", expanding=True)))
    .values(
        head=inbox.c.head + bindparam("step"),
        unsettled_bound=inbox.c.unsettled_bound + bindparam("step"),
        changed_at=bindparam("changed"),
    )
)
