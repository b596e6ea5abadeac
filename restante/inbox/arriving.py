"""Events that come of the end of others, in the same transaction, as its last statements.

The recipient's inbox row is locked late here, against the order; a deadlock over it repeats the
unit of work.
"""

from __future__ import annotations

from collections import Counter

from sqlalchemy import select
from sqlalchemy.orm import Session

from restante.inbox.place import lock_inboxes, place
from restante.inbox.publication import Arrival
from restante.storage.tables.identity import principal
from restante.storage.transaction import before_commit

_ARRIVALS = "restante.tx.late_arrivals"


def arrive_later(session: Session, arrival: Arrival) -> None:
    """Place this event before the commit, unless its recipient is removed."""
    session.info.setdefault(_ARRIVALS, []).append(arrival)
    before_commit(session, _write)


def arriving(session: Session) -> Counter[bytes]:
    """How many events are to be placed before the commit, by recipient."""
    return Counter(a.recipient_id for a in session.info.get(_ARRIVALS, ()))


def _write(session: Session) -> None:
    arrivals: list[Arrival] = session.info.pop(_ARRIVALS, [])
    here = set(
        session.connection()
        .execute(
            select(principal.c.principal_id).where(
                principal.c.principal_id.in_(sorted({a.recipient_id for a in arrivals})),
                principal.c.status != "removed",
            )
        )
        .scalars()
    )
    arrivals = [a for a in arrivals if a.recipient_id in here]
    if not arrivals:
        return
    heads = {r: row.head for r, row in lock_inboxes(session, here).items()}
    place(session, arrivals, heads, max(a.available_at for a in arrivals))
