"""What came of a delivery, written down: its event settled, the attempt kept, the circuit moved on.

Lock order: the event's rows, then the callback's.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import insert, select, update
from sqlalchemy.orm import Session

from restante.audit.actions import Action
from restante.audit.chain import record
from restante.audit.entries import SERVER, Entry
from restante.errors import NotFound, StaleClaim
from restante.inbox.failures import Failure
from restante.inbox.failures import Outcome as EventOutcome
from restante.inbox.orders import Ack, Order, Release
from restante.inbox.settle import settle_one
from restante.observations import What, observe
from restante.storage.clock import database_now
from restante.storage.ids import new_id
from restante.storage.tables.callbacks import callback, callback_attempt
from restante.webhooks.circuit import STEPS, Circuit, Sign
from restante.webhooks.delivery import Parcel, Result
from restante.webhooks.outcomes import FAILING, MOST_FAILURES, Outcome, pause
from restante.webhooks.states import Status
from restante.webhooks.suspension import suspended
from restante.webhooks.turns import IDLE, Turn

GIVEN_BACK = timedelta(seconds=1)
"""Not at once: so many immediate releases in a row would quarantine an event that did nothing."""


def settle(
    session: Session, turn: Turn, parcel: Parcel, result: Result, *, ends_with: int | None = None
) -> bool:
    """Write down what came of it → whether to go on with this turn.

    `ends_with`: it is the turn's last, and the next one begins with so many at once.

    The first failure of a turn ends it: what was on its way besides is settled, and counts no more. So a
    receiver that goes away with eight deliveries on their way has failed once.
    """
    _try(session, parcel, _order(parcel, result))
    connection = session.connection()
    row = connection.execute(
        select(callback).where(callback.c.callback_id == turn.callback.id).with_for_update()
    ).one()
    now = database_now(session)
    current = row.turn == turn.number and row.status == Status.ACTIVE.value
    values = _values(session, row, turn, result, now) if current else {}
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
    goes_on = "due_at" not in values
    if goes_on and parcel.event_id is None:
        values["notified_cursor"] = parcel.cursor
    if goes_on and ends_with is not None:
        goes_on, values["due_at"], values["at_once"] = False, now + IDLE, ends_with
    connection.execute(
        update(callback).where(callback.c.callback_id == turn.callback.id).values(values)
    )
    return goes_on


def give_back(session: Session, parcel: Parcel) -> None:
    """It was not sent after all."""
    _try(session, parcel, _given_back(parcel))


def end_turn(session: Session, turn: Turn, *, at_once: int, idle: bool) -> None:
    """Let another relay have the callback, at once or where there was nothing in a second."""
    now = database_now(session)
    session.connection().execute(
        update(callback)
        .where(
            callback.c.callback_id == turn.callback.id,
            callback.c.turn == turn.number,
            callback.c.status == Status.ACTIVE.value,
        )
        .values(due_at=now + IDLE if idle else now, at_once=at_once)
    )


def _try(session: Session, parcel: Parcel, order: Order | None) -> None:
    if order is None:
        return
    try:
        settle_one(session, parcel.agent, order)
    except (StaleClaim, NotFound):
        return  # its receiver, an operator or the clock was first


def _order(parcel: Parcel, result: Result) -> Order | None:
    """What becomes of the event; None: its receiver settles it, or there is none."""
    if parcel.event_id is None:
        return None
    match result.outcome:
        case Outcome.DELIVERED:
            return Ack(parcel.event_id, parcel.generation)
        case Outcome.ACCEPTED:
            return None
        case Outcome.REFUSED:
            failure = Failure(
                f"callback_{result.status}",
                f"The receiver answered {result.status}.",
                EventOutcome.FAILED,
            )
            return Release(parcel.event_id, parcel.generation, error=failure)
        case _:
            return _given_back(parcel)


def _given_back(parcel: Parcel) -> Order | None:
    if parcel.event_id is None:
        return None
    delay = GIVEN_BACK.total_seconds()
    return Release(parcel.event_id, parcel.generation, delay_seconds=delay)


def _values(
    session: Session, row: Any, turn: Turn, result: Result, now: datetime
) -> dict[str, Any]:
    """Of the callback. `due_at` stands in it where its turn is over."""
    took = {"took_ms": round(result.seconds * 1000)}
    circuit = Circuit(row.circuit)
    if result.outcome is Outcome.GONE:
        return took | _suspended(session, turn, "the receiver answered 410: it is gone", now)
    if result.outcome in (Outcome.FAILED, Outcome.BLOCKED):
        failures, since = row.failures + 1, row.failing_since or now
        values: dict[str, Any] = {
            "failures": failures,
            "failing_since": since,
            "circuit": STEPS[circuit, Sign.FAILED].value,
            "at_once": 1,
            **took,
        }
        if failures >= MOST_FAILURES:
            why = f"{failures} deliveries in a row failed"
            return values | _suspended(session, turn, why, now)
        if since <= now - FAILING:
            why = "no delivery has succeeded for 24 hours"
            return values | _suspended(session, turn, why, now)
        # not before what was given back may be claimed again: it is the first to go out
        waits = max(pause(failures, result.asked), GIVEN_BACK)
        return values | {"due_at": now + waits, "turn": row.turn + 1}
    values = {"failures": 0, "failing_since": None, **took}
    values["circuit"] = STEPS[circuit, Sign.ANSWERED].value
    if result.outcome is not Outcome.REFUSED:
        values["delivered_at"] = now
    return values


def _suspended(session: Session, turn: Turn, reason: str, now: datetime) -> dict[str, Any]:
    one = turn.callback
    entry = Entry(one.tenant_id, SERVER, Action.CALLBACK_SUSPEND, one.public_id, reason=reason)
    record(session, entry)
    return suspended(session, one, reason, now)
