"""Each predicate of the fence spoilt alone is noticed by the table of the fence's cases."""

from __future__ import annotations

from restante.inbox.lifecycle import fence
from tests.engine.mutants import mutants
from tests.unit.test_lifecycle_fence import CASES, NOW


def notices(variant: object) -> bool:
    for lease, generation, reason in CASES:
        try:
            if variant(lease, generation, NOW) is not reason:  # type: ignore[operator]  # a function
                return True
        except Exception:  # noqa: BLE001 - it settles nothing, and would be seen
            return True
    return False


def test_every_spoilt_fence_is_noticed() -> None:
    made = list(mutants(fence, boundaries=True))
    assert len(made) >= 15
    assert not {what for what, variant in made if not notices(variant)}


def test_the_fence_itself_is_not() -> None:
    assert not notices(fence)
