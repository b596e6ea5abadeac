"""What is to be delivered, claimed and committed before it is posted with no transaction open.

What came of it is written by settling.py. A relay that ends between the two leaves leases that run
out: the events are delivered again, with the same `webhook-id`. Lock order: the events' rows, then the
callback's.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import orjson
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from restante.identity.principal import Principal
from restante.identity.server_keys import ServerKeys
from restante.inbox.claim import ClaimRequest, claim
from restante.inbox.claim_id import held_by
from restante.inbox.lifecycle import Gate
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, decode_id
from restante.storage.tables.events import agent_inbox
from restante.trace_context import read_traceparent
from restante.webhooks.callbacks import Mode
from restante.webhooks.outcomes import Outcome
from restante.webhooks.sealed import Secrets
from restante.webhooks.signing import Signer
from restante.webhooks.standing import Standing, standings
from restante.webhooks.turns import Turn, is_current

LEASE_SECONDS = 60


class TurnOver(Exception):
    """The callback is no longer this relay's: what was begun is undone."""


@dataclass(frozen=True, slots=True)
class Parcel:
    """What is to be posted. `event_id` None: it says only that something is there, up to `cursor`."""

    message_id: str
    body: bytes
    signer: Signer
    now: datetime
    agent: Principal
    cursor: int
    event_id: bytes | None = None
    generation: int = 0
    attempt: int = 1
    is_keyed: bool = False
    traceparent: str | None = None


@dataclass(frozen=True, slots=True)
class Round:
    """Parcels that go out side by side. `is_last`: nothing else was claimable, nor will be by their acks."""

    parcels: list[Parcel]
    is_last: bool


NOTHING = Round([], is_last=True)


@dataclass(frozen=True, slots=True)
class Result:
    """What came of it. `asked`: how long the receiver asked to wait."""

    outcome: Outcome
    status: int | None
    seconds: float
    asked: timedelta | None = None


def consumer_of(turn: Turn) -> str:
    """As whom a callback claims."""
    return f"callback:{turn.callback.public_id}"


def prepare(
    session: Session, turn: Turn, keys: ServerKeys, secrets: Secrets, *, most: int = 1
) -> Round:
    """The next parcels, at most so many, their events claimed; none: nothing is to be sent now.

    Grants, the agent's status and the callback's are looked at here, at every delivery. Raises TurnOver.
    """
    one = turn.callback
    if not is_current(session, turn):
        raise TurnOver
    standing = standings(session, [one.agent_id]).get(one.agent_id)
    if standing is None:
        return NOTHING
    delivers = one.mode is Mode.DELIVER
    bodies, left = _claimed(session, turn, standing, most) if delivers else _told(turn, standing)
    if not bodies:
        return NOTHING
    if not is_current(session, turn, locked=True):
        raise TurnOver
    now = database_now(session)
    kid, key = keys.signer(session, now)
    signer = Signer(kid, key, secrets.live(session, one.id, now))
    parcels = [_parcel(turn, standing.agent, body, signer, now) for body in bodies]
    # the ack of an event with an ordering key makes the next one of the key claimable
    return Round(parcels, is_last=not left and not any(one.is_keyed for one in parcels))


def _claimed(
    session: Session, turn: Turn, standing: Standing, most: int
) -> tuple[list[bytes], int]:
    """Events as they are claimed, so many as the callback may hold besides those that it holds.

    And how many are claimable besides.
    """
    one = turn.callback
    projects = standing.projects(one.mode, one.projects)
    room = min(most, one.max_in_flight - _held(session, turn))
    if not projects or room <= 0:
        return [], 0
    request = ClaimRequest(
        projects=projects, limit=room, lease_seconds=LEASE_SECONDS, consumer=consumer_of(turn)
    )
    claimed = claim(session, standing.agent, request)
    return claimed.events, claimed.claimable


def _told(turn: Turn, standing: Standing) -> tuple[list[bytes], int]:
    """That something is there; nothing else is to be said."""
    if not standing.projects(turn.callback.mode, turn.callback.projects):
        return [], 0
    agent_id = standing.agent.public_id
    told = {"type": "inbox_updated", "agent_id": agent_id, "cursor_hint": turn.head}
    return [orjson.dumps(told)], 0


def _parcel(turn: Turn, agent: Principal, body: bytes, signer: Signer, now: datetime) -> Parcel:
    if turn.callback.mode is Mode.NOTIFY:
        message_id = f"{turn.callback.public_id}_{turn.number}"
        return Parcel(message_id, body, signer, now, agent, turn.head)
    told: dict[str, Any] = orjson.loads(body)
    return Parcel(
        told["event_id"],
        body,
        signer,
        now,
        agent,
        turn.head,
        event_id=decode_id(Prefix.EVENT, told["event_id"]),
        generation=told["claim_generation"],
        attempt=told["attempts"],
        is_keyed=told["ordering_key"] is not None,
        traceparent=read_traceparent(told["traceparent"]),
    )


def _held(session: Session, turn: Turn) -> int:
    """How many events the callback holds, those among them that its receiver settles itself."""
    count = session.connection().execute(
        select(func.count())
        .select_from(agent_inbox)
        .where(
            agent_inbox.c.recipient_id == turn.callback.agent_id,
            agent_inbox.c.gate == Gate.CLAIMED.value,
            held_by(consumer_of(turn)),
        )
    )
    return int(count.scalar() or 0)
