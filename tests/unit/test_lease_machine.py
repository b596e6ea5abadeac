"""Every state of two events of a key, two consumers, two scavengers and an operator is visited.

No promise is broken in any; without any one of the guards one is.
"""

from __future__ import annotations

import pytest

from restante.inbox.lifecycle import fence
from tests.engine.mutants import mutants
from tests.unit.lease_machine import Guard, Machine
from tests.unit.lease_promises import counterexample


def test_no_way_leads_to_a_broken_promise() -> None:
    assert counterexample(Machine()) is None


@pytest.mark.parametrize("guard", Guard)
def test_without_a_guard_a_promise_is_broken(guard: Guard) -> None:
    assert counterexample(Machine(without=guard)) is not None


@pytest.mark.parametrize(
    "spoilt",
    [
        "never `generation < lease.claim_generation`",
        "never `lease.claim_expires_at is None or lease.claim_expires_at <= now`",
        "without `lease.claim_expires_at <= now`",
        "turned `lease.claim_expires_at <= now`",
        "just off `lease.claim_expires_at <= now`",
    ],
)
def test_without_a_predicate_of_the_fence_a_promise_is_broken(spoilt: str) -> None:
    """Those that keep somebody out; the others tell the reason, see test_fence_mutants."""
    made = {what.partition(" ")[2]: variant for what, variant in mutants(fence, boundaries=True)}
    assert counterexample(Machine(fence=made[spoilt])) is not None
