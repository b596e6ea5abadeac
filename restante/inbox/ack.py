"""Ack: rows that passed the fence are completed, their payloads go, their keys go on."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import bindparam, update
from sqlalchemy.orm import Session

from restante.identity.principal import Principal
from restante.inbox import ending
from restante.inbox.by_key import update_by_place
from restante.inbox.ends import tell_end
from restante.inbox.envelope import instant
from restante.inbox.fencing import Held, archived
from restante.inbox.lifecycle import STATUS_OF, Gate
from restante.inbox.orders import Ack, Answer
from restante.observations import What, observe
from restante.storage.ids import Prefix, encode_id
from restante.storage.statement import Statement, stretch
from restante.storage.tables.events import agent_inbox, event_content

_COMPLETED = STATUS_OF[Gate.COMPLETED]


def answer(row: Any, completed_at: datetime) -> Answer:
    """What an ack is answered."""
    told: Answer = {
        "event_id": encode_id(Prefix.EVENT, row.event_id),
        "status": _COMPLETED,
        "completed_at": instant(completed_at),
    }
    if row.cancel_requested:
        told["cancel_requested"] = True
    return told


def repeated(session: Session, agent: Principal, held: Held, order: Ack) -> Answer | None:
    """The first outcome again, where this generation completed the event; archived or not."""
    row = held.rows.get(order.event_id) or archived(session, agent, order.event_id)
    if row is None or Gate(row.gate) is not Gate.COMPLETED:
        return None
    # a commit through a cursor completes what was never claimed: no generation did that
    if order.claim_generation < 1 or row.claim_generation != order.claim_generation:
        return None
    return answer(row, row.final_at)


def complete(
    session: Session, agent: Principal, held: Held, acked: Sequence[tuple[Ack, Any]]
) -> None:
    """Complete rows that passed the fence, all in one statement."""
    numbers = stretch([row.sequence_number for _, row in acked])
    COMPLETE.later(session, {"recipient": agent.id, "numbers": numbers, "completed": held.now})
    plain = [row.sequence_number for order, row in acked if order.result is None]
    if plain:
        DROP_PAYLOADS.later(session, {"recipient": agent.id, "numbers": stretch(plain)})
    with_result = [
        {"recipient": agent.id, "number": row.sequence_number, "answered": order.result}
        for order, row in acked
        if order.result is not None
    ]
    if with_result:
        session.connection().execute(_KEEP_RESULT, with_result)
    delivered = _since([row.available_at for _, row in acked], held.now, timedelta(milliseconds=1))
    observe(session, What.DELIVERED_MS, lengths=delivered, recipient_id=agent.id)
    worked = _since([row.first_claimed_at for _, row in acked], held.now, timedelta(seconds=1))
    observe(session, What.COMPLETED_SECONDS, lengths=worked)
    for order, row in acked:
        if row.claim_only:
            tell_end(session, row, Gate.COMPLETED, result=order.result)
    keyed = [row for _, row in acked if row.key_hash is not None]
    for row in sorted(keyed, key=lambda row: row.sequence_number):
        ending.leave_key(session, row, held.keys)


def _since(instants: Sequence[datetime], now: datetime, unit: timedelta) -> list[float]:
    """How long ago each was; most of a call are the same."""
    lengths = {instant: (now - instant) / unit for instant in set(instants)}
    return [lengths[instant] for instant in instants]


COMPLETE = Statement(
    update_by_place()
    .where(
        agent_inbox.c.recipient_id == bindparam("recipient"),
        agent_inbox.c.sequence_number.in_(bindparam("numbers", expanding=True)),
    )
    .values(
        gate=Gate.COMPLETED.value,
        final_at=bindparam("completed"),
        claim_expires_at=None,
        consumer=None,
        due_at=None,
        not_before=None,
    )
)
DROP_PAYLOADS = Statement(
    update(event_content)
    .where(
        event_content.c.recipient_id == bindparam("recipient"),
        event_content.c.sequence_number.in_(bindparam("numbers", expanding=True)),
    )
    .values(payload=None)
)
_KEEP_RESULT = (
    update(event_content)
    .where(
        event_content.c.recipient_id == bindparam("recipient"),
        event_content.c.sequence_number == bindparam("number"),
    )
    .values(payload=None, result=bindparam("answered"))
)
