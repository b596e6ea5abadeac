"""Routing: whom a policy chooses of the candidates, and every decision kept with its reasons."""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, assert_never

from sqlalchemy import delete, func, insert, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from restante.coordination.candidates import Candidate
from restante.inbox.envelope import instant
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, encode_id
from restante.storage.tables.assignments import assignment_routing, assignment_sticky
from restante.storage.transaction import Repeat


class Policy(StrEnum):
    """How one of several candidates is chosen."""

    LEAST_LOADED = "least_loaded"
    STICKY = "sticky"
    IN_ORDER = "in_order"


def choose(
    policy: Policy, candidates: Sequence[Candidate], *, before: bytes | None = None
) -> tuple[Candidate | None, str]:
    """One of the eligible candidates, or None → (candidate, why). `before`: who had the key last.

    Pure. Ties go to the lower id, so that a decision can be understood later.
    """
    eligible = [candidate for candidate in candidates if candidate.eligible]
    if not eligible:
        return None, "no candidate" if not candidates else "no candidate is eligible"
    least = min(eligible, key=lambda candidate: (candidate.load, candidate.agent_id))
    match policy:
        case Policy.IN_ORDER:
            return eligible[0], "first in order that is eligible"
        case Policy.STICKY:
            stuck = [candidate for candidate in eligible if candidate.agent_id == before]
            if stuck:
                return stuck[0], "has the work of this key"
            return least, "least loaded; nobody eligible has the work of this key"
        case Policy.LEAST_LOADED:
            return least, "least loaded"
    assert_never(policy)


def keep_decision(
    session: Session,
    assignment_id: bytes,
    candidates: Sequence[Candidate],
    chosen: Candidate | None,
    reason: str,
) -> None:
    """Keep a decision, after those before it. The assignment's row is locked, or new."""
    connection = session.connection()
    of = assignment_routing.c.assignment_id == assignment_id
    last = connection.execute(select(func.max(assignment_routing.c.number)).where(of)).scalar()
    connection.execute(
        insert(assignment_routing),
        {
            "assignment_id": assignment_id,
            "number": (last or 0) + 1,
            "at": database_now(session),
            "chosen": None if chosen is None else chosen.agent_id,
            "reason": reason,
            "candidates": json.dumps([candidate.told() for candidate in candidates]),
        },
    )


def decisions(session: Session, assignment_id: bytes) -> list[dict[str, Any]]:
    """All decisions, the first one first, as JSON has them."""
    rows = session.connection().execute(
        select(assignment_routing)
        .where(assignment_routing.c.assignment_id == assignment_id)
        .order_by(assignment_routing.c.number)
    )
    return [
        {
            "at": instant(row.at),
            "chosen": None if row.chosen is None else encode_id(Prefix.AGENT, row.chosen),
            "reason": row.reason,
            "candidates": json.loads(row.candidates),
        }
        for row in rows
    ]


def stuck_to(session: Session, project_id: bytes, sticky_hash: bytes) -> bytes | None:
    """Who had the work of a key last."""
    asked = select(assignment_sticky.c.agent_id).where(
        assignment_sticky.c.project_id == project_id,
        assignment_sticky.c.sticky_hash == sticky_hash,
    )
    found: bytes | None = session.connection().execute(asked).scalar()
    return found


def stick(session: Session, project_id: bytes, sticky_hash: bytes, agent_id: bytes) -> None:
    """The work of a key is this agent's from now on."""
    connection = session.connection()
    connection.execute(
        delete(assignment_sticky).where(
            assignment_sticky.c.project_id == project_id,
            assignment_sticky.c.sticky_hash == sticky_hash,
        )
    )
    row = {
        "project_id": project_id,
        "sticky_hash": sticky_hash,
        "agent_id": agent_id,
        "worked_at": database_now(session),
    }
    try:
        connection.execute(insert(assignment_sticky), row)
    except IntegrityError as error:
        raise Repeat from error  # another one of this key, a moment ago: look again
