"""Settle: ack, release, reject, renew, one or many, each standing or falling alone.

Every one passes the fence (fencing.py, lifecycle.fence) on a locked row. One that does not pass
changes nothing and says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from restante.errors import RestanteError, StaleClaim
from restante.identity.principal import Principal
from restante.identity.scopes import Verb
from restante.inbox import ack, release, renew
from restante.inbox.claim_id import held_by
from restante.inbox.fencing import hold, refusal
from restante.inbox.lifecycle import Gate
from restante.inbox.orders import Ack, Answer, Order, Reject, Release, Renew
from restante.observations import What, observe_refusal
from restante.storage.tables.events import agent_inbox


def settle_one(session: Session, agent: Principal, order: Order) -> Answer:
    """Carry out one order. Raises StaleClaim and NotFound: nothing was changed then."""
    (outcome,) = settle_many(session, agent, [order])
    if isinstance(outcome, RestanteError):
        raise outcome
    return outcome


def settle_many(
    session: Session, agent: Principal, orders: Sequence[Order], *, answers_repeats: bool = True
) -> list[Answer | RestanteError]:
    """Carry out orders for different events → an answer or an error for each, in their order.

    The caller has made sure that no event is named twice. `answers_repeats`: an ack that this
    generation has made before is answered again; else it is a stale one like another.
    """
    held = hold(
        session,
        agent,
        [order.event_id for order in orders],
        to_ack=all(isinstance(order, Ack) for order in orders),
    )
    outcomes: list[Answer | RestanteError] = []
    acked: list[tuple[Ack, Any]] = []
    for order in orders:
        refused = refusal(session, agent, held, order.event_id, order.claim_generation)
        if refused is not None:
            repeated = (
                ack.repeated(session, agent, held, order)
                if isinstance(order, Ack) and answers_repeats
                else None
            )
            if repeated is None and isinstance(refused, StaleClaim):
                reason = refused.members["reason"]
                observe_refusal(session, What.STALE_SETTLE, type(order).__name__.lower(), reason)
            outcomes.append(repeated or refused)
            continue
        row = held.rows[order.event_id]
        match order:
            case Ack():
                acked.append((order, row))
                outcomes.append(ack.answer(row, held.now))
            case Release():
                outcomes.append(release.release(session, held, order, row))
            case Reject():
                outcomes.append(release.reject(session, agent, held, order, row))
            case Renew():
                outcomes.append(renew.renew(session, held, order, row))
    if acked:
        ack.complete(session, agent, held, acked)
    return outcomes


def release_consumer(session: Session, agent: Principal, consumer: str) -> int:
    """Give back, without an error, all that one consumer of the agent holds → how many."""
    projects = [p.id for p in agent.require_any(Verb.CLAIM)]
    rows = session.connection().execute(
        select(agent_inbox.c.event_id, agent_inbox.c.claim_generation).where(
            agent_inbox.c.recipient_id == agent.id,
            agent_inbox.c.project_id.in_(projects),
            agent_inbox.c.gate == Gate.CLAIMED.value,
            held_by(consumer),
        )
    )
    orders = [Release(row.event_id, row.claim_generation) for row in rows]
    if not orders:
        return 0
    outcomes = settle_many(session, agent, orders)
    return sum(not isinstance(outcome, RestanteError) for outcome in outcomes)
