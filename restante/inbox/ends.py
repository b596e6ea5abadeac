"""Whom the end of a work assignment concerns: told in its transaction, before the commit.

The inbox knows no assignments; who keeps them listens under ON_END of `session.info`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from restante.inbox.lifecycle import Gate
from restante.storage.transaction import before_commit

ON_END = "restante.on_end"
"""Key of `session.info`: a Listener."""

_ENDS = "restante.tx.ends"


@dataclass(frozen=True, slots=True)
class Ended:
    """An event that is completed, cancelled, expired or in quarantine. `result`: JSON, of its ack."""

    event_id: bytes
    gate: Gate
    result: bytes | None = None
    reason: str | None = None


Listener = Callable[[Session, Sequence[Ended]], None]


def tell_end(
    session: Session,
    row: Any,
    gate: Gate,
    *,
    result: bytes | None = None,
    reason: str | None = None,
) -> None:
    """Tell of the end of `row`'s event, if it is a work assignment."""
    if row.claim_only and ON_END in session.info:
        session.info.setdefault(_ENDS, []).append(Ended(row.event_id, gate, result, reason))
        before_commit(session, _tell)


def _tell(session: Session) -> None:
    listener: Listener = session.info[ON_END]
    listener(session, session.info.pop(_ENDS))
