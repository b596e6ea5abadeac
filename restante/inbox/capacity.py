"""How much may wait: `max_pending`, of an inbox and of a tenant, without a count at every publish.

An inbox row keeps a bound that is never below what is unsettled; only when it reaches the limit is
it counted anew, by an index, no further than the limit. All of it under the inbox row's lock.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Select, bindparam, func, literal, select, update
from sqlalchemy.orm import Session

from restante.errors import InboxFull
from restante.inbox.lifecycle import PENDING_GATES, Gate
from restante.inbox.look import HELD_COUNTED
from restante.storage.ids import Prefix, encode_id
from restante.storage.tables.events import agent_inbox, scheduled_event
from restante.storage.tables.identity import project
from restante.storage.tables.inboxes import inbox
from restante.storage.unit import Unit


def check(
    session: Session,
    counts: Mapping[bytes, int],
    bounds: Mapping[bytes, int],
    limits: Mapping[bytes, int],
) -> None:
    """Is there room for `counts` more in each inbox? InboxFull names those where there is not."""
    full = []
    for recipient_id, more in sorted(counts.items()):
        limit = limits[recipient_id]
        if bounds[recipient_id] + more <= limit:
            continue
        waiting = count_unsettled(session, recipient_id, limit)
        if waiting + more > limit:
            full.append(encode_id(Prefix.AGENT, recipient_id))
        # an application's own snapshot may be older than what waits: the bound stays what it was
        elif isinstance(session, Unit):
            # what is claimed does not wait, and may come back without asking here
            held = _count(session, _HELD, recipient_id, HELD_COUNTED)
            session.connection().execute(
                _SET_BOUND, {"recipient": recipient_id, "waiting": waiting + held}
            )
    if full:
        raise InboxFull(recipients=full)


def check_tenant(session: Session, tenant_id: bytes, limit: int | None, more: int) -> None:
    """The tenant's own limit, where it has set one. Counted: it is the price of setting one."""
    if limit is None:
        return
    connection = session.connection()
    waiting = 0
    for statement in (_TENANT_PENDING, _TENANT_SCHEDULED):
        waiting += connection.execute(
            statement, {"tenant": tenant_id, "most": limit + 1}
        ).scalar_one()
    if waiting + more > limit:
        raise InboxFull(
            "The tenant has too much waiting: nothing was written.",
            recipients=[],
            tenant_max_pending=limit,
        )


def count_unsettled(session: Session, recipient_id: bytes, most: int) -> int:
    """Pending and scheduled events of an inbox, counted to a little over `most`."""
    return sum(
        _count(session, statement, recipient_id, most + 1) for statement in (_PENDING, _SCHEDULED)
    )


def add(session: Session, counts: Mapping[bytes, int]) -> None:
    """Raise the bounds of inboxes whose rows are locked, for events without a sequence yet."""
    session.connection().execute(
        _ADD, [{"recipient": r, "more": n} for r, n in sorted(counts.items())]
    )


def _count(session: Session, statement: Select[int], recipient_id: bytes, most: int) -> int:
    values = {"recipient": recipient_id, "most": most}
    return session.connection().execute(statement, values).scalar_one()


def _counted(rows: Select[int]) -> Select[int]:
    return select(func.count()).select_from(rows.limit(bindparam("most")).subquery())


def _rows_in(*gates: Gate) -> Select[int]:
    """The projects first: then the claim's index answers by equality on its first three columns."""
    return (
        select(literal(1).label("one"))
        .with_hint(agent_inbox, "FORCE INDEX (claim)", "mysql")
        .select_from(project)
        .join(inbox, inbox.c.tenant_id == project.c.tenant_id)
        .join(
            agent_inbox,
            (agent_inbox.c.recipient_id == inbox.c.recipient_id)
            & (agent_inbox.c.project_id == project.c.project_id)
            & agent_inbox.c.gate.in_([gate.value for gate in gates]),
        )
    )


_PENDING_ROWS = _rows_in(*PENDING_GATES)
_SCHEDULED_ROWS = (
    select(literal(1).label("one"))
    .select_from(inbox)
    .join(scheduled_event, scheduled_event.c.recipient_id == inbox.c.recipient_id)
    .where(scheduled_event.c.due_at.is_not(None))
)
_HELD = _counted(_rows_in(Gate.CLAIMED).where(inbox.c.recipient_id == bindparam("recipient")))
_PENDING = _counted(_PENDING_ROWS.where(inbox.c.recipient_id == bindparam("recipient")))
_SCHEDULED = _counted(_SCHEDULED_ROWS.where(inbox.c.recipient_id == bindparam("recipient")))
_TENANT_PENDING = _counted(_PENDING_ROWS.where(inbox.c.tenant_id == bindparam("tenant")))
_TENANT_SCHEDULED = _counted(_SCHEDULED_ROWS.where(inbox.c.tenant_id == bindparam("tenant")))
_SET_BOUND = (
    update(inbox)
    .where(inbox.c.recipient_id == bindparam("recipient"))
    .values(unsettled_bound=bindparam("waiting"))
)
_ADD = (
    update(inbox)
    .where(inbox.c.recipient_id == bindparam("recipient"))
    .values(unsettled_bound=inbox.c.unsettled_bound + bindparam("more"))
)
