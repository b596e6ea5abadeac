"""What a stream says first: where the inbox stands when it opens."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy.orm import Session

from restante.identity.principal import Project
from restante.inbox.look import look
from restante.inbox.timers import run_due


@dataclass(frozen=True, slots=True)
class Opening:
    """The inbox as the covered projects show it; `claimable` counted to 100."""

    epoch: str
    head: int
    claimable: int

    def rings_for(self, after_cursor: int | None) -> bool:
        """Is there something for a reader that has seen so far?"""
        return self.claimable > 0 or (after_cursor is not None and self.head > after_cursor)


def opening(session: Session, recipient_id: bytes, projects: tuple[Project, ...]) -> Opening:
    """Look at an inbox whose due timers have run. Raises NotFound where there is none."""
    seen = look(session, recipient_id, projects)
    if seen.is_due:
        run_due(session, recipient_id)
        seen = look(session, recipient_id, projects)
    return Opening(seen.epoch.hex(), seen.head, seen.claimable())
