"""The thread of an event: those of its correlation, each below the one that caused it."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.orm import Session

from restante.identity.administrators import Administrator
from restante.inbox.inspection import Brief, thread

DEEPEST = 6
"""So far is a chain of causes set in."""


@dataclass(frozen=True, slots=True)
class Threaded:
    """`depth`: how many of those listed lie between it and the first cause of it that is."""

    event: Brief
    depth: int

    @property
    def recipient_id(self) -> str:
        """In whose inbox it is."""
        return self.event.recipient_id


def thread_of(
    session: Session, administrator: Administrator, correlation_id: str, *, limit: int
) -> tuple[list[Threaded], bool]:
    """The events of one correlation → (events, are there more); causes before what they caused."""
    found, more = thread(session, administrator, correlation_id, limit=limit)
    here = {one.event_id for one in found}
    below: dict[str | None, list[Brief]] = {}
    for one in found:
        # one that names itself, or what is not listed, has no cause here
        cause = one.causation_id if one.causation_id in here - {one.event_id} else None
        below.setdefault(cause, []).append(one)
    told: list[Threaded] = []
    waiting = [(one, 0) for one in reversed(below.pop(None, []))]
    while waiting:
        one, depth = waiting.pop()
        told.append(Threaded(one, min(depth, DEEPEST)))
        waiting += [(child, depth + 1) for child in reversed(below.pop(one.event_id, []))]
    # what causes each other in a ring has no first
    told += [Threaded(one, 0) for rest in below.values() for one in rest]
    return told, more
