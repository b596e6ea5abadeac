"""Rate limits of one principal, in one process."""

from __future__ import annotations

import pytest

from restante.errors import RateLimited
from restante.identity.rates import Rates


class Clock:
    """Moves when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_two_seconds_worth_at_once_then_one_at_a_time() -> None:
    clock = Clock()
    rates = Rates(2.0, clock=clock)
    for _ in range(4):
        rates.take(b"a")
    with pytest.raises(RateLimited) as refused:
        rates.take(b"a")
    assert refused.value.retry_after_seconds == 1
    rates.take(b"b")
    clock.now = 0.5
    rates.take(b"a")
    with pytest.raises(RateLimited):
        rates.take(b"a")


def test_a_refused_call_costs_nothing() -> None:
    clock = Clock()
    rates = Rates(1.0, clock=clock)
    for _ in range(2):
        rates.take(b"a")
    for _ in range(10):
        with pytest.raises(RateLimited):
            rates.take(b"a")
    clock.now = 1.0
    rates.take(b"a")


def test_without_a_limit_nothing_is_counted() -> None:
    rates = Rates(0.0, clock=Clock())
    for _ in range(1000):
        rates.take(b"a")
