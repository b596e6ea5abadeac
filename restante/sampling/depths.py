"""How much lies in each inbox and since when: by the claim's index, some inboxes at a time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import bindparam, case, func, literal, select, true, union_all
from sqlalchemy.orm import Session

from restante.inbox.lifecycle import PENDING_GATES, Gate
from restante.storage.tables.events import agent_inbox, scheduled_event
from restante.storage.tables.identity import project
from restante.storage.tables.inboxes import inbox

INBOXES = 200


@dataclass(frozen=True, slots=True)
class Depth:
    """An inbox; `oldest_at`: when its first pending event became available, if it has one."""

    recipient_id: bytes
    tenant_id: bytes
    head: int
    pending: int
    scheduled: int
    claimed: int
    quarantined: int
    oldest_at: datetime | None


def depths(session: Session, after: bytes) -> tuple[list[Depth], bytes | None]:
    """The depths of the next two hundred inboxes, and the last one's id (None: there are no more).

    Rows touched: one range per inbox, project and gate, and the events in it that are not done.
    """
    connection = session.connection()
    inboxes = connection.execute(_NEXT, {"after": after}).all()
    if not inboxes:
        return [], None
    ids = [row.recipient_id for row in inboxes]
    full = {row.recipient_id: row for row in connection.execute(_LYING, {"recipients": ids})}
    later = {
        row.recipient_id: row.number for row in connection.execute(_LATER, {"recipients": ids})
    }
    found = []
    for row in inboxes:
        lies = full.get(row.recipient_id)
        found.append(
            Depth(
                recipient_id=row.recipient_id,
                tenant_id=row.tenant_id,
                head=row.head,
                pending=0 if lies is None else int(lies.pending),
                scheduled=later.get(row.recipient_id, 0),
                claimed=0 if lies is None else int(lies.claimed),
                quarantined=0 if lies is None else int(lies.quarantined),
                oldest_at=None if lies is None else lies.available_at,
            )
        )
    return found, ids[-1] if len(ids) == INBOXES else None


_NEXT = (
    select(inbox.c.recipient_id, inbox.c.tenant_id, inbox.c.head)
    .where(inbox.c.recipient_id > bindparam("after"))
    .order_by(inbox.c.recipient_id)
    .limit(INBOXES)
)
_LIES = agent_inbox.alias("lies")
_KINDS = dict.fromkeys(PENDING_GATES, "pending") | {
    Gate.CLAIMED: "claimed",
    Gate.QUARANTINED: "quarantined",
}
# one equality each: for a list of gates the server would read all of an inbox's completed entries
_GATES = union_all(
    *(
        select(literal(gate.value).label("gate"), literal(kind).label("kind"))
        for gate, kind in _KINDS.items()
    )
).subquery("gates")
_COUNTED = (
    select(
        inbox.c.recipient_id,
        *(
            func.sum(case((_GATES.c.kind == kind, 1), else_=0)).label(kind)
            for kind in ("pending", "claimed", "quarantined")
        ),
        func.min(case((_GATES.c.kind == "pending", _LIES.c.sequence_number))).label("lowest"),
    )
    # the primary key would lead through everything that is completed
    .with_hint(_LIES, "FORCE INDEX (claim)", "mysql")
    # MySQL would take the gates last and read everything of an inbox for them
    .prefix_with("STRAIGHT_JOIN", dialect="mysql")
    .select_from(inbox)
    .join(project, project.c.tenant_id == inbox.c.tenant_id)
    .join(_GATES, true())
    .join(
        _LIES,
        (_LIES.c.recipient_id == inbox.c.recipient_id)
        & (_LIES.c.project_id == project.c.project_id)
        & (_LIES.c.gate == _GATES.c.gate),
    )
    .where(inbox.c.recipient_id.in_(bindparam("recipients", expanding=True)))
    .group_by(inbox.c.recipient_id)
    .subquery("counted")
)
_LYING = select(_COUNTED, agent_inbox.c.available_at).outerjoin(
    agent_inbox,
    (agent_inbox.c.recipient_id == _COUNTED.c.recipient_id)
    & (agent_inbox.c.sequence_number == _COUNTED.c.lowest),
)
_LATER = (
    select(scheduled_event.c.recipient_id, func.count().label("number"))
    .with_hint(scheduled_event, "FORCE INDEX (scheduled_of_inbox)", "mysql")
    .where(
        scheduled_event.c.recipient_id.in_(bindparam("recipients", expanding=True)),
        scheduled_event.c.due_at.is_not(None),
    )
    .group_by(scheduled_event.c.recipient_id)
)
