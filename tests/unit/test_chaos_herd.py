"""What the herd calls wrong, and how it waits."""

from __future__ import annotations

import random

from tests.chaos.herd import Agent, Herd, wrong


def herd(told: list[int]) -> Herd:
    agents = [Agent("/x", "t", readies=2, told_ms=ms) for ms in told]
    one = Herd(1, agents, random.Random(7))
    one.statuses.update([200] * 2 * len(agents) + [503, 0])
    return one


def test_a_restart_at_everybodys_own_pace_is_right() -> None:
    assert wrong(herd(list(range(1_000, 11_000, 10)))) == []


def test_all_at_once_is_wrong() -> None:
    assert wrong(herd([1_000] * 500)) == ["500 of 500 were told the same tenth of a second"]


def test_being_told_nothing_is_wrong() -> None:
    spread = list(range(1_000, 9_000, 10))
    assert wrong(herd([0] * 200 + spread)) == ["800 of 1000 were told when to come back"]


def test_a_fault_is_wrong() -> None:
    one = herd(list(range(1_000, 11_000, 10)))
    one.statuses[500] += 3
    assert wrong(one) == ["3 answers were 500"]
