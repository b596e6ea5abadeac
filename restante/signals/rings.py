"""Rings: what a transaction has made claimable, for whom. Written with it, heard after it.

The row in `wake` tells other hosts (tailer.py); the callback after the commit tells this process.
A rolled-back transaction rings nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from restante.storage.statement import Insert
from restante.storage.tables.signals import wake
from restante.storage.transaction import after_commit, before_commit

ON_RING = "restante.on_ring"
"""Key of `session.info`: what to call with the rings of a committed transaction."""

_RINGS = "restante.tx.rings"


@dataclass(frozen=True, slots=True)
class Ring:
    """Something of the project is claimable; `head`: the inbox's, where it is known."""

    recipient_id: bytes
    project_id: bytes
    head: int | None = None


def ring(
    session: Session, recipient_id: bytes, project_id: bytes, *, head: int | None = None
) -> None:
    """Ring for this inbox and project when the transaction commits (once, however often asked)."""
    rings: dict[tuple[bytes, bytes], Ring] | None = session.info.get(_RINGS)
    if rings is None:
        before_commit(session, _write)
        rings = session.info.setdefault(_RINGS, {})
    known = rings.get((recipient_id, project_id))
    if known is None or (head or 0) > (known.head or 0):
        rings[recipient_id, project_id] = Ring(recipient_id, project_id, head)


def _write(session: Session) -> None:
    rings: list[Ring] = list(session.info.pop(_RINGS, {}).values())
    _WAKE.later(session, sorted((r.recipient_id, r.project_id, r.head) for r in rings))
    tell: Callable[[Sequence[Ring]], None] | None = session.info.get(ON_RING)
    if tell is not None:
        after_commit(session, lambda: tell(rings))


_WAKE = Insert(wake, "recipient_id", "project_id", "head")
