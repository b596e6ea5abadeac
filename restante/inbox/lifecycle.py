"""The state machine of an event, written once. Pure.

`docs/state-machine.md`, the CHECKs of the schema and the verbs are compared with it by a test.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import IntEnum, StrEnum
from typing import NamedTuple


class Status(StrEnum):
    """What a caller sees."""

    SCHEDULED = "scheduled"
    PENDING = "pending"
    CLAIMED = "claimed"
    COMPLETED = "completed"
    QUARANTINED = "quarantined"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


class Gate(IntEnum):
    """What the claim's index sees. Pending has three: claimable, waiting for its key, delayed."""

    SCHEDULED = 0
    CLAIMABLE = 1
    WAITING = 2
    DELAYED = 3
    CLAIMED = 4
    QUARANTINED = 5
    COMPLETED = 6
    CANCELLED = 7
    EXPIRED = 8


STATUS_OF = {
    Gate.SCHEDULED: Status.SCHEDULED,
    Gate.CLAIMABLE: Status.PENDING,
    Gate.WAITING: Status.PENDING,
    Gate.DELAYED: Status.PENDING,
    Gate.CLAIMED: Status.CLAIMED,
    Gate.QUARANTINED: Status.QUARANTINED,
    Gate.COMPLETED: Status.COMPLETED,
    Gate.CANCELLED: Status.CANCELLED,
    Gate.EXPIRED: Status.EXPIRED,
}

PENDING_GATES = (Gate.CLAIMABLE, Gate.WAITING, Gate.DELAYED)
FINAL_GATES = (Gate.COMPLETED, Gate.CANCELLED, Gate.EXPIRED)
FINAL = frozenset(STATUS_OF[gate] for gate in FINAL_GATES)


class Verb(StrEnum):
    """What moves an event."""

    DUE = "due"
    CLAIM = "claim"
    ACK = "ack"
    COMMIT = "commit"
    RELEASE = "release"
    LEASE_END = "lease_end"
    REJECT = "reject"
    CANCEL = "cancel"
    EXPIRE = "expire"
    RETENTION = "retention"
    REDRIVE = "redrive"
    DISCARD = "discard"


TRANSITIONS: dict[tuple[Status, Verb], frozenset[Status]] = {
    (Status.SCHEDULED, Verb.DUE): frozenset({Status.PENDING}),
    (Status.SCHEDULED, Verb.CANCEL): frozenset({Status.CANCELLED}),
    (Status.PENDING, Verb.CLAIM): frozenset({Status.CLAIMED}),
    (Status.PENDING, Verb.COMMIT): frozenset({Status.COMPLETED}),
    (Status.PENDING, Verb.CANCEL): frozenset({Status.CANCELLED}),
    (Status.PENDING, Verb.EXPIRE): frozenset({Status.EXPIRED}),
    (Status.PENDING, Verb.RETENTION): frozenset({Status.EXPIRED}),
    (Status.CLAIMED, Verb.ACK): frozenset({Status.COMPLETED}),
    (Status.CLAIMED, Verb.RELEASE): frozenset(
        {Status.PENDING, Status.QUARANTINED, Status.CANCELLED, Status.EXPIRED}
    ),
    (Status.CLAIMED, Verb.LEASE_END): frozenset(
        {Status.PENDING, Status.QUARANTINED, Status.CANCELLED, Status.EXPIRED}
    ),
    (Status.CLAIMED, Verb.REJECT): frozenset({Status.QUARANTINED, Status.CANCELLED}),
    (Status.CLAIMED, Verb.CANCEL): frozenset({Status.CANCELLED}),  # where its lease is over
    (Status.QUARANTINED, Verb.REDRIVE): frozenset({Status.PENDING}),
    (Status.QUARANTINED, Verb.CANCEL): frozenset({Status.CANCELLED}),
    (Status.QUARANTINED, Verb.DISCARD): frozenset({Status.CANCELLED}),
}


class Stale(StrEnum):
    """Why a claim does not hold (contract section 3, `stale-claim`)."""

    LEASE_EXPIRED = "lease_expired"
    RELEASED = "released"
    RECLAIMED = "reclaimed"
    COMPLETED = "completed"
    CANCELLED = "cancelled"
    QUARANTINED = "quarantined"
    EXPIRED = "expired"
    NEVER_CLAIMED = "never_claimed"


class ClaimEnd(IntEnum):
    """How an event's last claim ended, while the event is pending again."""

    NONE = 0
    GIVEN_BACK = 1
    LEASE_OVER = 2


_ENDED = {
    Gate.COMPLETED: Stale.COMPLETED,
    Gate.CANCELLED: Stale.CANCELLED,
    Gate.QUARANTINED: Stale.QUARANTINED,
    Gate.EXPIRED: Stale.EXPIRED,
}


class Lease(NamedTuple):
    """The columns of a row that the fence looks at."""

    gate: Gate
    claim_generation: int
    claim_expires_at: datetime | None
    claim_ended_by: ClaimEnd


def fence(lease: Lease, generation: int, now: datetime) -> Stale | None:
    """Why this generation may not settle, or None: it is the current claim and unexpired.

    The one predicate that every settle passes, on a locked row, with a clock read after the lock.
    """
    if lease.gate in _ENDED:
        return _ENDED[lease.gate]
    if generation > lease.claim_generation or generation < 1:
        return Stale.NEVER_CLAIMED
    if generation < lease.claim_generation:
        return Stale.RECLAIMED
    if lease.gate is not Gate.CLAIMED:
        return (
            Stale.RELEASED if lease.claim_ended_by is ClaimEnd.GIVEN_BACK else Stale.LEASE_EXPIRED
        )
    if lease.claim_expires_at is None or lease.claim_expires_at <= now:
        return Stale.LEASE_EXPIRED
    return None


def effective_gate(
    gate: Gate,
    now: datetime,
    *,
    claim_expires_at: datetime | None = None,
    expires_at: datetime | None = None,
    due_at: datetime | None = None,
) -> Gate:
    """The gate as a reader sees it, whether or not its row has been rewritten yet."""
    if gate is Gate.CLAIMED:
        is_over = claim_expires_at is not None and claim_expires_at <= now
        return Gate.CLAIMABLE if is_over else gate
    if gate in (Gate.DELAYED, Gate.SCHEDULED) and due_at is not None and due_at <= now:
        gate = Gate.CLAIMABLE
    if gate in PENDING_GATES and expires_at is not None and expires_at <= now:
        return Gate.EXPIRED
    return gate


DEFAULT_BACKOFF_BASE = timedelta(seconds=5)
DEFAULT_BACKOFF_MAX = timedelta(minutes=15)


def backoff_ceiling(
    attempts: int, base: timedelta = DEFAULT_BACKOFF_BASE, most: timedelta = DEFAULT_BACKOFF_MAX
) -> timedelta:
    """The longest wait after a failed attempt: min(most, base x 2^(attempts-1))."""
    doublings = min(max(attempts - 1, 0), 40)
    return min(most, base * 2**doublings) if base else timedelta(0)
