"""What a stream says first: where the inbox stands when it opens."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.orm import Session

from restante.identity.principal import Principal
from restante.identity.scopes import Verb
from restante.inbox.look import look
from restante.inbox.timers import run_due


@dataclass(frozen=True, slots=True)
class Opening:
    """The inbox as the covered projects show it; `claimable` counted to 100."""

    now: datetime
    epoch: str
    head: int
    claimable: int

    def rings_for(self, after_cursor: int | None) -> bool:
        """Whether there is something for a reader that has seen so far."""
        return self.claimable > 0 or (after_cursor is not None and self.head > after_cursor)


def opening(session: Session, principal: Principal) -> Opening:
    """Look at an inbox whose due timers have run. Raises NotFound where there is none."""
    seen = look(session, principal, principal.require_any(Verb.READ))
    if seen.is_due:
        run_due(session, principal.id)
        seen = look(session, principal, principal.require_any(Verb.READ))
    return Opening(seen.now, seen.epoch.hex(), seen.head, seen.claimable())
