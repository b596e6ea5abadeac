"""The sweep: for which of many inboxes and projects something waits, in one statement a hundred.

Each pair costs one entry of the claim's index and one of the timers'.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache

from sqlalchemy import TextClause, bindparam, text
from sqlalchemy.orm import Session

from restante.inbox.lifecycle import Gate
from restante.storage.base import Id, Instant
from restante.storage.clock import database_now

PAIRS = 100
Pair = tuple[bytes, bytes]
"""A recipient and a project."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """`waits`: something can be claimed, or could once overdue timers have run. `head`: the inbox's."""

    head: int
    waits: bool


def waiting(session: Session, pairs: Collection[Pair]) -> dict[Pair, Waiting]:
    """How it stands in each of many inboxes and projects."""
    found: dict[Pair, Waiting] = {}
    if not pairs:
        return found
    now = database_now(session)
    ordered = sorted(pairs)
    for start in range(0, len(ordered), PAIRS):
        chunk = ordered[start : start + PAIRS]
        chunk += [chunk[-1]] * (_size(len(chunk)) - len(chunk))
        values: dict[str, object] = {"now": now}
        for i, (recipient_id, project_id) in enumerate(chunk):
            values[f"r{i}"], values[f"p{i}"] = recipient_id, project_id
        rows = session.connection().execute(_statement(len(chunk)), values)
        for recipient_id, project_id, head, waits in rows:
            found[bytes(recipient_id), bytes(project_id)] = Waiting(head, bool(waits))
    return found


def _size(count: int) -> int:
    """Statements come in few sizes, so that each is made once."""
    size = 1
    while size < count:
        size *= 10
    return min(size, PAIRS)


@cache
def _statement(count: int) -> TextClause:
    pairs = " UNION ALL ".join(f"SELECT :r{i} AS r, :p{i} AS p" for i in range(count))
    ids = [bindparam(f"{name}{i}", type_=Id) for i in range(count) for name in "rp"]
    return text(_TEXT.replace(":pairs", pairs)).bindparams(
        bindparam("now", type_=Instant),
        bindparam("claimable", Gate.CLAIMABLE.value),
        bindparam("claimed", Gate.CLAIMED.value),
        bindparam("delayed", Gate.DELAYED.value),
        *ids,
    )


_TEXT = """
SELECT w.r, w.p, i.head,
    EXISTS (SELECT 1 FROM agent_inbox a
        WHERE a.recipient_id = w.r AND a.project_id = w.p AND a.gate = :claimable)
    OR EXISTS (SELECT 1 FROM agent_inbox a
        WHERE a.recipient_id = w.r AND a.due_at <= :now
        AND a.project_id = w.p AND a.gate IN (:claimed, :delayed))
    OR EXISTS (SELECT 1 FROM scheduled_event s
        WHERE s.recipient_id = w.r AND s.due_at <= :now AND s.project_id = w.p) AS waits
FROM (:pairs) w JOIN inbox i ON i.recipient_id = w.r
"""
