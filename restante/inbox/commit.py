"""Commit through a cursor: the acknowledgement of a pure cursor reader.

Completes, in sequence order, pending events that were never claimed and are no work assignment.
Rows that a claim holds at that moment are passed over.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from restante.errors import ValidationFailed
from restante.identity.principal import Principal, Project
from restante.identity.scopes import Verb
from restante.inbox import ending, ordering
from restante.inbox.ack import COMPLETE, DROP_PAYLOADS
from restante.inbox.browse import seen
from restante.inbox.by_key import select_by_place
from restante.inbox.lifecycle import PENDING_GATES
from restante.inbox.look import check_cursor
from restante.inbox.ranks import ranks
from restante.storage.clock import database_now
from restante.storage.statement import stretch
from restante.storage.tables.events import agent_inbox

MOST = 1_000


def commit_through(
    session: Session, agent: Principal, through_cursor: int, epoch: str | None
) -> tuple[int, bool]:
    """→ (how many were completed, whether there are more at or below the cursor).

    Raises CursorGone for another epoch, ValidationFailed for a cursor beyond head.
    """
    projects = agent.require_any(Verb.CLAIM)
    first = seen(session, agent, projects)
    check_cursor(session, agent.id, first, None, epoch)
    if through_cursor > first.head:
        raise ValidationFailed.at("/through_cursor", f"is beyond head, which is {first.head}")
    found = _candidates(session, agent.id, projects, through_cursor)
    candidates, has_more = found[:MOST], len(found) > MOST
    names = {ending.key_name(row) for row in candidates if row.key_hash is not None}
    keys = ordering.lock_keys(session, names) if names else {}
    rows = session.connection().execute(
        _LOCK, {"recipient": agent.id, "numbers": [row.sequence_number for row in candidates]}
    )
    now = database_now(session)
    done = [
        row
        for row in rows
        if row.gate in _PENDING
        and row.claim_generation == 0
        and (row.expires_at is None or row.expires_at > now)
    ]
    if done:
        values = {"recipient": agent.id, "numbers": stretch([row.sequence_number for row in done])}
        COMPLETE.later(session, {**values, "completed": now})
        DROP_PAYLOADS.later(session, values)
    # from the last to the first, so that a key's head never goes to one that goes as well
    for row in reversed(done):
        ending.leave_key(session, row, keys)
    return len(done), has_more


def _candidates(
    session: Session, recipient_id: bytes, projects: Sequence[Project], through: int
) -> list[Any]:
    """Unlocked: what could be completed, in sequence order, by one index range a rank."""
    connection = session.connection()
    found: list[Any] = []
    for project in projects:
        for gate in PENDING_GATES:
            place = {"recipient": recipient_id, "project": project.id, "gate_is": gate.value}
            for rank, _ in ranks(session, recipient_id, project.id, gate):
                found += connection.execute(
                    _PENDING_ROWS, {**place, "rank_is": rank, "through": through}
                )
    return sorted(found, key=lambda row: row.sequence_number)


_PENDING = frozenset(gate.value for gate in PENDING_GATES)
_PENDING_ROWS = (
    select(
        agent_inbox.c.recipient_id,
        agent_inbox.c.sequence_number,
        agent_inbox.c.project_id,
        agent_inbox.c.key_hash,
    )
    .where(
        agent_inbox.c.recipient_id == bindparam("recipient"),
        agent_inbox.c.project_id == bindparam("project"),
        agent_inbox.c.gate == bindparam("gate_is"),
        agent_inbox.c.rank == bindparam("rank_is"),
        agent_inbox.c.sequence_number <= bindparam("through"),
        agent_inbox.c.claim_generation == 0,
        agent_inbox.c.claim_only.is_(False),
    )
    .order_by(agent_inbox.c.sequence_number)
    .limit(MOST + 1)
)
_LOCK = (
    select_by_place(*ending.LOCKED)
    .where(
        agent_inbox.c.recipient_id == bindparam("recipient"),
        agent_inbox.c.sequence_number.in_(bindparam("numbers", expanding=True)),
    )
    .order_by(agent_inbox.c.sequence_number)
    .with_for_update(skip_locked=True)
)
