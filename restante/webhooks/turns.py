"""Turns: which callbacks have something to be sent, and which relay has them for the moment.

A turn is a number in the callback's row: whoever took it may send until another one has been taken,
or an administrator or the agent has changed the callback.
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
    """A callback that has something to send. `head`: of the inbox, when it was looked at."""

    callback: Callback
    number: int
    head: int


def take_turns(session: Session, *, most: int) -> list[Turn]:
    """Turns of callbacks that are due, tenants in turn; the others are looked at again in a second."""
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
        return []
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
            wanting.append(Turn(one, row.turn + 1, stands[0].head))
        else:
            idle.append(one.id)
    taken = in_turn(wanting)[:most]
    _set_due(session, idle, now + IDLE)
    _set_due(session, without, now + WITHOUT_RIGHTS)
    _set_due(session, [turn.callback.id for turn in taken], now + TURN, turn=callback.c.turn + 1)
    return taken


def is_current(session: Session, turn: Turn, *, locked: bool = False) -> bool:
    """Whether the callback is active and the turn is still this one."""
    query = select(callback.c.turn).where(
        callback.c.callback_id == turn.callback.id, callback.c.status == Status.ACTIVE.value
    )
    found = session.connection().execute(query.with_for_update() if locked else query).scalar()
    return found == turn.number


def in_turn(wanting: Sequence[Turn]) -> list[Turn]:
    """The first of each tenant, then the second of each, and so on."""
    seen: dict[bytes, int] = {}
    ranked = []
    for turn in wanting:
        rank = seen[turn.callback.tenant_id] = seen.get(turn.callback.tenant_id, -1) + 1
        ranked.append((rank, turn))
    return [turn for _, turn in sorted(ranked, key=lambda one: one[0])]


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
