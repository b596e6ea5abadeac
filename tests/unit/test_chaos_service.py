"""How long nobody was served, by what clients wrote down."""

from __future__ import annotations

import pytest

from tests.chaos.history import Call
from tests.chaos.service import NANOSECONDS, seconds_without, served_at, told


def call(second: float, *, verb: str = "publish", status: int = 201) -> Call:
    at = int(second * NANOSECONDS)
    return Call(client="c", verb=verb, asked={}, sent_at=at, status=status, told={}, answered_at=at)


@pytest.mark.parametrize(
    ("since", "until", "seconds"),
    [
        (4, 6, 7),  # the fault began it
        (3, 4, 7),  # it began when the fault did
        (9, 9.5, 7),  # it was still on
        (10, 12, 1),
        (1, 1.5, 1),
    ],
)
def test_it_is_the_longest_time_that_the_fault_was_in(
    since: float, until: float, seconds: float
) -> None:
    calls = [call(at, verb="ack", status=200) for at in (0, 1, 2, 3, 10, 11, 12, 13)]
    calls += [call(5, status=503), call(6, status=0), call(7, verb="read", status=200)]
    found = seconds_without(served_at(calls), int(since * NANOSECONDS), int(until * NANOSECONDS))
    assert found == seconds


def test_before_anybody_was_served_it_begins_with_the_fault() -> None:
    assert seconds_without(served_at([call(5), call(6)]), 2 * NANOSECONDS, 5 * NANOSECONDS) == 3
    assert seconds_without([], 0, NANOSECONDS) == 0


def test_many_are_told_by_median_and_maximum() -> None:
    assert told([7.0, 1.0, 30.04]) == "median 7.0, max 30.0"
