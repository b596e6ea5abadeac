"""One delivery in three parts: claimed and committed, posted with no transaction open, settled.

A relay that ends between the last two leaves a lease that runs out: the event is delivered again,
with the same `webhook-id`. Lock order: the event's rows, then the callback's.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import orjson
from sqlalchemy import func, insert, select, update
from sqlalchemy.orm import Session

from restante.audit.actions import Action
from restante.audit.chain import record
from restante.audit.entries import SERVER, Entry
from restante.errors import NotFound, StaleClaim
from restante.identity.principal import Principal
from restante.identity.server_keys import ServerKeys
from restante.inbox.claim import ClaimRequest, claim
from restante.inbox.claim_id import held_by
from restante.inbox.failures import Failure
from restante.inbox.failures import Outcome as EventOutcome
from restante.inbox.lifecycle import Gate
from restante.inbox.orders import Ack, Order, Release
from restante.inbox.settle import settle_one
from restante.observations import What, observe
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, decode_id, encode_id, new_id
from restante.storage.tables.callbacks import callback, callback_attempt
from restante.storage.tables.events import agent_inbox
from restante.webhooks.callbacks import Mode
from restante.webhooks.outcomes import FAILING, MOST_FAILURES, Outcome, pause
from restante.webhooks.registration import NOT_ACTIVE
from restante.webhooks.sealed import Secrets
from restante.webhooks.signing import Signer
from restante.webhooks.standing import standings
from restante.webhooks.states import Status
from restante.webhooks.turns import IDLE, Turn, is_current

LEASE_SECONDS = 60
GIVEN_BACK_SECONDS = 1.0
"""Not at once: so many immediate releases in a row would quarantine an event that did nothing."""


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


def prepare(session: Session, turn: Turn, keys: ServerKeys, secrets: Secrets) -> Parcel | None:
    """The next parcel, its event claimed; None: there is nothing to send now. Raises TurnOver.

    Grants, the agent's status and the callback's are looked at here, at every delivery.
    """
    one = turn.callback
    if not is_current(session, turn):
        raise TurnOver
    standing = standings(session, [one.agent_id]).get(one.agent_id)
    projects = () if standing is None else standing.projects(one.mode, one.projects)
    if standing is None or not projects:
        return None
    told: dict[str, Any] | None = None
    if one.mode is Mode.DELIVER:
        if _held(session, turn) >= one.max_in_flight:
            return None
        claimed = claim(
            session,
            standing.agent,
            ClaimRequest(
                projects=projects,
                limit=1,
                lease_seconds=LEASE_SECONDS,
                consumer=consumer_of(turn),
            ),
        )
        if not claimed.events:
            return None
        body = claimed.events[0]
        told = orjson.loads(body)
    else:
        agent_id = standing.agent.public_id
        body = orjson.dumps(
            {"type": "inbox_updated", "agent_id": agent_id, "cursor_hint": turn.head}
        )
    if not is_current(session, turn, locked=True):
        raise TurnOver
    now = database_now(session)
    kid, key = keys.signer(session, now)
    signer = Signer(kid, key, secrets.live(session, one.id, now))
    if told is None:
        message_id = f"{one.public_id}_{turn.number}"
        return Parcel(message_id, body, signer, now, standing.agent, turn.head)
    return Parcel(
        told["event_id"],
        body,
        signer,
        now,
        standing.agent,
        turn.head,
        event_id=decode_id(Prefix.EVENT, told["event_id"]),
        generation=told["claim_generation"],
        attempt=told["attempts"],
    )


def settle(session: Session, turn: Turn, parcel: Parcel, result: Result) -> bool:
    """Write down what came of it → whether to go on with this turn."""
    _settle_event(session, parcel, result)
    connection = session.connection()
    row = connection.execute(
        select(callback).where(callback.c.callback_id == turn.callback.id).with_for_update()
    ).one()
    now = database_now(session)
    current = row.turn == turn.number and row.status == Status.ACTIVE.value
    values = _values(row, parcel, result, now) if current else {}
    connection.execute(
        insert(callback_attempt).values(
            attempt_id=new_id(),
            callback_id=turn.callback.id,
            event_id=parcel.event_id,
            at=now,
            outcome=result.outcome.value,
            status=result.status,
            duration_ms=round(result.seconds * 1000),
            attempt=parcel.attempt,
            next_at=values.get("due_at"),
        )
    )
    observe(session, What.CALLBACK_TRIED, result.outcome.value)
    if not current:
        return False
    connection.execute(
        update(callback).where(callback.c.callback_id == turn.callback.id).values(values)
    )
    if "status" in values:
        target = encode_id(Prefix.CALLBACK, turn.callback.id)
        reason = values["status_reason"]
        entry = Entry(row.tenant_id, SERVER, Action.CALLBACK_SUSPEND, target, reason=reason)
        record(session, entry)
    return "due_at" not in values


def end_turn(session: Session, turn: Turn, *, idle: bool) -> None:
    """Let another relay have the callback, at once or where there was nothing in a second."""
    now = database_now(session)
    session.connection().execute(
        update(callback)
        .where(
            callback.c.callback_id == turn.callback.id,
            callback.c.turn == turn.number,
            callback.c.status == Status.ACTIVE.value,
        )
        .values(due_at=now + IDLE if idle else now)
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


def _settle_event(session: Session, parcel: Parcel, result: Result) -> None:
    order = None if parcel.event_id is None else _order(parcel.event_id, parcel.generation, result)
    if order is None:
        return
    try:
        settle_one(session, parcel.agent, order)
    except (StaleClaim, NotFound):
        return  # its receiver, an operator or the clock was first


def _order(event_id: bytes, generation: int, result: Result) -> Order | None:
    match result.outcome:
        case Outcome.DELIVERED:
            return Ack(event_id, generation)
        case Outcome.ACCEPTED:
            return None
        case Outcome.REFUSED:
            failure = Failure(
                f"callback_{result.status}",
                f"The receiver answered {result.status}.",
                EventOutcome.FAILED,
            )
            return Release(event_id, generation, error=failure)
        case _:
            return Release(event_id, generation, delay_seconds=GIVEN_BACK_SECONDS)


def _values(row: Any, parcel: Parcel, result: Result, now: datetime) -> dict[str, Any]:
    """Of the callback. `due_at` stands in it where its turn is over."""
    if result.outcome is Outcome.GONE:
        return _suspended("the receiver answered 410: it is gone")
    if result.outcome in (Outcome.FAILED, Outcome.BLOCKED):
        failures, since = row.failures + 1, row.failing_since or now
        values: dict[str, Any] = {"failures": failures, "failing_since": since}
        if failures >= MOST_FAILURES:
            return values | _suspended(f"{failures} deliveries in a row failed")
        if since <= now - FAILING:
            return values | _suspended("no delivery has succeeded for 24 hours")
        return values | {"due_at": now + pause(failures, result.asked)}
    values = {"failures": 0, "failing_since": None}
    if result.outcome is not Outcome.REFUSED:
        values["delivered_at"] = now
    if parcel.event_id is None:
        values |= {"notified_cursor": parcel.cursor, "due_at": now + IDLE}
    return values


def _suspended(reason: str) -> dict[str, Any]:
    return {"status": Status.SUSPENDED.value, "status_reason": reason, **NOT_ACTIVE}
