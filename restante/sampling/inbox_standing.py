"""How inboxes stood at the last sample: a row for each in which something lay, in the orders of pages."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import bindparam, delete, select
from sqlalchemy.orm import Session

from restante.sampling.depths import Depth
from restante.sampling.history import upsert
from restante.storage.tables.operation import inbox_standing

_SAID = ("pending", "scheduled", "claimed", "quarantined", "oldest_at")


def write_inboxes(session: Session, depths: Sequence[Depth]) -> int:
    """Say how inboxes stand → how many rows that changed. What became empty has none any more."""
    if not depths:
        return 0
    ids = {"recipients": [depth.recipient_id for depth in depths]}
    known = {
        row.recipient_id: tuple(getattr(row, name) for name in _SAID)
        for row in session.connection().execute(_KNOWN, ids)
    }
    rows, emptied = [], []
    for depth in depths:
        says = {name: getattr(depth, name) for name in _SAID}
        was = known.get(depth.recipient_id)
        if not any(says.values()):
            emptied += [] if was is None else [depth.recipient_id]
        elif was != tuple(says.values()):
            of_inbox = {"recipient_id": depth.recipient_id, "tenant_id": depth.tenant_id}
            unsettled = depth.pending + depth.scheduled
            rows.append({**of_inbox, **says, "unsettled": unsettled})
    if rows:
        upsert(session, inbox_standing, rows, said=(*_SAID, "unsettled"))
    if emptied:
        session.connection().execute(_EMPTIED, {"recipients": emptied})
    return len(rows) + len(emptied)


_OF = inbox_standing.c.recipient_id.in_(bindparam("recipients", expanding=True))
_KNOWN = select(inbox_standing).where(_OF)
_EMPTIED = delete(inbox_standing).where(_OF)
