"""Turns: which callbacks have something to be sent, and which relay has them for the moment.

A turn is a number in the callback's row: whoever took it may send until another one has been taken,
a delivery has failed, or an administrator or the agent has changed the callback.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from restante.signals.sweep import Waiting, waiting
from restante.storage.clock import database_now
from restante.storage.tables.callbacks import callback
from restante.storage.tables.identity import principal
from restante.webhooks.callbacks import Callback, Mode, callback_of
from restante.webhooks.circuit import STEPS, Circuit, Sign, ails
from restante.webhooks.room import Room
from restante.webhooks.standing import Standing, standings
from restante.webhooks.states import Status

TURN = timedelta(seconds=60)
"""So long a relay has a callback to itself; after a kill another goes on then."""
IDLE = timedelta(seconds=1)
WITHOUT_RIGHTS = timedelta(seconds=30)
TOLD_AGAIN = timedelta(seconds=60)
"""So long after the last one a `notify` is repeated where something is still claimable."""
LOOKED_AT = 200


@dataclass(frozen=True, slots=True)
class Turn:
    """A callback that has something to send. `head`: of the inbox, when it was looked at.

    `at_once`: how many deliveries it begins with. `ails`: they may well take long.
    """

    callback: Callback
    number: int
    head: int
    at_once: int
    circuit: Circuit
    ails: bool

    @property
    def tenant_id(self) -> bytes:
        """Whose it is."""
        return self.callback.tenant_id


@dataclass(frozen=True, slots=True)
class Taken:
    """`more`: there may be others that are due and were not looked at."""

    turns: list[Turn]
    more: bool


def take_turns(session: Session, room: Room) -> Taken:
    """Turns of callbacks that are due, as there is room; idle ones are looked at again in a second."""
    connection, now = session.connection(), database_now(session)
    locked = connection.execute(
        select(callback.c.callback_id)
        .where(callback.c.due_at <= now)
        .order_by(callback.c.due_at)
        .limit(LOOKED_AT)
        .with_for_update(skip_locked=True)
    )
    ids = list(locked.scalars())
    if not ids:
        return Taken([], more=False)
    rows = connection.execute(
        select(callback, principal.c.name)
        .join(principal, principal.c.principal_id == callback.c.agent_id)
        .where(callback.c.callback_id.in_(ids))
        .order_by(callback.c.due_at)
    ).all()
    standing = standings(session, {row.agent_id for row in rows})
    found = [(row, callback_of(row)) for row in rows]
    pairs = {
        (one.agent_id, project.id)
        for _, one in found
        for project in _projects(standing.get(one.agent_id), one)
    }
    stand = waiting(session, pairs)
    idle, without, wanting = [], [], []
    for row, one in found:
        projects = _projects(standing.get(one.agent_id), one)
        stands = [stand[one.agent_id, p.id] for p in projects if (one.agent_id, p.id) in stand]
        if not stands:
            without.append(one.id)
        elif _has_something(row, one, stands, now):
            wanting.append(_turn(row, one, stands[0].head))
        else:
            idle.append(one.id)
    taken, full = room.choose(wanting)
    # those whose own places are full step back, lest they stand before all others
    _set_due(session, idle + [turn.callback.id for turn in full], now + IDLE)
    _set_due(session, without, now + WITHOUT_RIGHTS)
    for circuit in Circuit:
        of_it = [turn.callback.id for turn in taken if turn.circuit is circuit]
        values = {"turn": callback.c.turn + 1, "circuit": circuit.value}
        _set_due(session, of_it, now + TURN, **values)
    return Taken(taken, more=len(ids) == LOOKED_AT and len(taken) < room.free)


def is_current(session: Session, turn: Turn, *, locked: bool = False) -> bool:
    """Whether the callback is active and the turn is still this one."""
    query = select(callback.c.turn).where(
        callback.c.callback_id == turn.callback.id, callback.c.status == Status.ACTIVE.value
    )
    found = session.connection().execute(query.with_for_update() if locked else query).scalar()
    return found == turn.number


def _turn(row: Any, one: Callback, head: int) -> Turn:
    took = None if row.took_ms is None else row.took_ms / 1000
    ailing = ails(one.circuit, took)
    return Turn(one, row.turn + 1, head, row.at_once, STEPS[one.circuit, Sign.TURN], ailing)


def _projects(standing: Standing | None, one: Callback) -> tuple[Any, ...]:
    return () if standing is None else standing.projects(one.mode, one.projects)


def _has_something(row: Any, one: Callback, stands: Sequence[Waiting], now: datetime) -> bool:
    if not any(stand.waits for stand in stands):
        return False
    if one.mode is Mode.DELIVER:
        return True
    told = row.notified_cursor
    newer = told is None or stands[0].head > told
    return newer or one.delivered_at is None or one.delivered_at <= now - TOLD_AGAIN


def _set_due(session: Session, ids: Sequence[bytes], due_at: datetime, **values: Any) -> None:
    if ids:
        session.connection().execute(
            update(callback)
            .where(callback.c.callback_id.in_(ids), callback.c.status == Status.ACTIVE.value)
            .values(due_at=due_at, **values)
        )
