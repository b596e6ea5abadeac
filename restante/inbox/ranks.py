"""The ranks that a gate of a project has: one look into the index for each, none at what lies between.

A GROUP BY would ask for the same; whether it leaps from rank to rank is the server's choice, and
MySQL chose to read all there was.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from restante.inbox.lifecycle import Gate
from restante.storage.statement import Statement
from restante.storage.tables.events import agent_inbox

_BELOW_ALL = -1_000


def ranks(
    session: Session, recipient_id: bytes, project_id: bytes, gate: Gate
) -> Iterator[tuple[int, int]]:
    """(rank, its lowest sequence number), the best rank first."""
    place = {"recipient": recipient_id, "project": project_id, "gate_is": gate.value}
    rank = _BELOW_ALL
    while (row := _NEXT.first(session, {**place, "above": rank})) is not None:
        rank = row.rank
        yield rank, row.sequence_number


_NEXT = Statement(
    select(agent_inbox.c.rank, agent_inbox.c.sequence_number)
    .with_hint(agent_inbox, "FORCE INDEX (claim)", "mysql")
    .where(
        agent_inbox.c.recipient_id == bindparam("recipient"),
        agent_inbox.c.project_id == bindparam("project"),
        agent_inbox.c.gate == bindparam("gate_is"),
        agent_inbox.c.rank > bindparam("above"),
    )
    .order_by(agent_inbox.c.rank, agent_inbox.c.sequence_number)
    .limit(1)
)
