"""How much waits in each inbox and since when: by the claim's index, some inboxes at a time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import bindparam, func, literal, select, true, union_all
from sqlalchemy.orm import Session

from restante.inbox.lifecycle import PENDING_GATES
from restante.storage.tables.events import agent_inbox
from restante.storage.tables.identity import project
from restante.storage.tables.inboxes import inbox

INBOXES = 200


@dataclass(frozen=True, slots=True)
class Depth:
    """An inbox with something pending; `oldest_at`: when its first pending event became available."""

    recipient_id: bytes
    pending: int
    oldest_at: datetime


def depths(session: Session, after: bytes) -> tuple[list[Depth], bytes | None]:
    """The depths of the next two hundred inboxes, and the last one's id (None: there are no more).

    Rows touched: one range per inbox and project, and the pending events in it.
    """
    connection = session.connection()
    ids = list(connection.execute(_NEXT, {"after": after}).scalars())
    if not ids:
        return [], None
    rows = connection.execute(_PENDING, {"recipients": ids})
    found = [Depth(row.recipient_id, row.pending, row.available_at) for row in rows]
    return found, ids[-1] if len(ids) == INBOXES else None


_NEXT = (
    select(inbox.c.recipient_id)
    .where(inbox.c.recipient_id > bindparam("after"))
    .order_by(inbox.c.recipient_id)
    .limit(INBOXES)
)
_WAITING = agent_inbox.alias("waiting")
# one equality each: for a list of gates the server would read all of an inbox's completed entries
_GATES = union_all(*(select(literal(gate.value).label("gate")) for gate in PENDING_GATES)).subquery(
    "gates"
)
_COUNTED = (
    select(
        inbox.c.recipient_id,
        func.count().label("pending"),
        func.min(_WAITING.c.sequence_number).label("lowest"),
    )
    # the primary key would lead through everything that is completed
    .with_hint(_WAITING, "FORCE INDEX (claim)", "mysql")
    # MySQL would take the gates last and read everything of an inbox for them
    .prefix_with("STRAIGHT_JOIN", dialect="mysql")
    .select_from(inbox)
    .join(project, project.c.tenant_id == inbox.c.tenant_id)
    .join(_GATES, true())
    .join(
        _WAITING,
        (_WAITING.c.recipient_id == inbox.c.recipient_id)
        & (_WAITING.c.project_id == project.c.project_id)
        & (_WAITING.c.gate == _GATES.c.gate),
    )
    .where(inbox.c.recipient_id.in_(bindparam("recipients", expanding=True)))
    .group_by(inbox.c.recipient_id)
    .subquery("counted")
)
_PENDING = select(_COUNTED.c.recipient_id, _COUNTED.c.pending, agent_inbox.c.available_at).join(
    agent_inbox,
    (agent_inbox.c.recipient_id == _COUNTED.c.recipient_id)
    & (agent_inbox.c.sequence_number == _COUNTED.c.lowest),
)
