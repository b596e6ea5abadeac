"""The fence as a table: why a generation may not settle (contract section 3, `stale-claim`)."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from restante.inbox.lifecycle import ClaimEnd, Gate, Lease, Stale, fence

NOW = datetime(2026, 1, 1, 12)
TICK = timedelta(microseconds=1)
GIVEN, OVER, NEVER = ClaimEnd.GIVEN_BACK, ClaimEnd.LEASE_OVER, ClaimEnd.NONE


def claimed(ends: datetime | None) -> Lease:
    return Lease(Gate.CLAIMED, 7, ends, NEVER)


def pending(gate: Gate, ended_by: ClaimEnd, generation: int = 7) -> Lease:
    return Lease(gate, generation, None, ended_by)


CASES: list[tuple[Lease, int, Stale | None]] = [
    # the current claim, unexpired, and each part of that alone untrue
    (claimed(NOW + TICK), 7, None),
    (claimed(NOW), 7, Stale.LEASE_EXPIRED),
    (claimed(NOW - TICK), 7, Stale.LEASE_EXPIRED),
    (claimed(None), 7, Stale.LEASE_EXPIRED),
    (claimed(NOW + TICK), 6, Stale.RECLAIMED),
    (claimed(NOW + TICK), 1, Stale.RECLAIMED),
    (claimed(NOW + TICK), 8, Stale.NEVER_CLAIMED),
    (claimed(NOW + TICK), 0, Stale.NEVER_CLAIMED),
    (claimed(NOW + TICK), -1, Stale.NEVER_CLAIMED),
    # nobody took it since
    (pending(Gate.CLAIMABLE, GIVEN), 7, Stale.RELEASED),
    (pending(Gate.CLAIMABLE, OVER), 7, Stale.LEASE_EXPIRED),
    (pending(Gate.DELAYED, GIVEN), 7, Stale.RELEASED),
    (pending(Gate.DELAYED, OVER), 7, Stale.LEASE_EXPIRED),
    (pending(Gate.WAITING, GIVEN), 7, Stale.RELEASED),
    (pending(Gate.CLAIMABLE, GIVEN), 6, Stale.RECLAIMED),
    (pending(Gate.CLAIMABLE, OVER), 8, Stale.NEVER_CLAIMED),
    (pending(Gate.CLAIMABLE, NEVER, 0), 0, Stale.NEVER_CLAIMED),
    (pending(Gate.CLAIMABLE, NEVER, 0), 1, Stale.NEVER_CLAIMED),
    # the state wins when it is final or quarantined, whatever the generation
    *(
        (Lease(gate, 7, None, ended), generation, reason)
        for gate, reason in (
            (Gate.COMPLETED, Stale.COMPLETED),
            (Gate.CANCELLED, Stale.CANCELLED),
            (Gate.EXPIRED, Stale.EXPIRED),
            (Gate.QUARANTINED, Stale.QUARANTINED),
        )
        for generation in (0, 6, 7, 8)
        for ended in ClaimEnd
    ),
]


@pytest.mark.parametrize(("lease", "generation", "reason"), CASES, ids=str)
def test_why_a_generation_may_not_settle(
    lease: Lease, generation: int, reason: Stale | None
) -> None:
    assert fence(lease, generation, NOW) is reason
