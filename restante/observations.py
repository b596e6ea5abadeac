"""What verbs notice and somebody may count. Hints: told after the commit, lost with a rollback."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import NamedTuple

from sqlalchemy.orm import Session

from restante.storage.transaction import after_commit

ON_OBSERVED = "restante.on_observed"
"""Key of `session.info`: what to call with the observations of a committed transaction."""

_OBSERVED = "restante.tx.observed"


class What(StrEnum):
    """What can be observed, with its labels."""

    CLAIMED = "claimed"  # kind: first | again
    CLAIMED_NOTHING = "claimed_nothing"  # though something was claimable
    LEASE_EXPIRED = "lease_expired"
    ATTEMPT_FAILED = "attempt_failed"  # cause: lease_expired | released | rejected
    QUARANTINED = "quarantined"  # reason
    DELIVERED_MS = "delivered_ms"  # from available_at to ack
    COMPLETED_SECONDS = "completed_seconds"  # from first claim to ack
    STALE_SETTLE = "stale_settle"  # verb, reason
    CALLBACK_TRIED = "callback_tried"  # outcome


class Observation(NamedTuple):
    """So many of a kind, or lengths; `recipient_id`: in whose inbox, where that is told."""

    what: What
    labels: tuple[str, ...] = ()
    times: int = 1
    lengths: Sequence[float] = ()
    recipient_id: bytes | None = None


Observer = Callable[[Sequence[Observation]], None]


def both(first: Observer, second: Observer) -> Observer:
    """Tells two observers."""

    def told(observed: Sequence[Observation]) -> None:
        first(observed)
        second(observed)

    return told


def observe(
    session: Session,
    what: What,
    *labels: str,
    times: int = 1,
    lengths: Sequence[float] = (),
    recipient_id: bytes | None = None,
) -> None:
    """Have it told once the transaction has committed."""
    observer: Observer | None = session.info.get(ON_OBSERVED)
    if observer is None:
        return
    observed: list[Observation] | None = session.info.get(_OBSERVED)
    if observed is None:
        observed = session.info[_OBSERVED] = []
        told = observed
        after_commit(session, lambda: observer(told))
    observed.append(Observation(what, labels, times, lengths, recipient_id))


def observe_refusal(session: Session, what: What, *labels: str) -> None:
    """Have it told now: a refusal may roll its transaction back."""
    observer: Observer | None = session.info.get(ON_OBSERVED)
    if observer is not None:
        observer([Observation(what, labels)])
