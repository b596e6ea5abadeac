"""The circuit of a callback's receiver: every pair of circuit and sign, and how many at once."""

from __future__ import annotations

import pytest

from restante.webhooks.circuit import MOST_AT_ONCE, STEPS, Circuit, Sign, ails, widened

MATRIX = """
           turn      answered  failed
closed     closed    closed    open
open       half_open -         -
half_open  half_open closed    open
"""


def cells() -> list[tuple[Circuit, Sign, str]]:
    head, *lines = [line.split() for line in MATRIX.strip().splitlines()]
    return [
        (Circuit(line[0]), Sign(sign), to)
        for line in lines
        for sign, to in zip(head, line[1:], strict=True)
    ]


def test_every_step_is_in_the_matrix() -> None:
    assert len(cells()) == len(Circuit) * len(Sign)
    assert {(c, s): to for c, s, to in cells() if to != "-"} == STEPS


@pytest.mark.parametrize(
    ("rounds", "most", "expected"),
    [
        ([0.1] * 5, 100, [2, 4, 8, MOST_AT_ONCE, MOST_AT_ONCE]),
        ([0.1] * 3, 3, [2, 3, 3]),
        ([0.1], 1, [1]),
        ([0.1, 0.1, 0.1, 2.0, 2.0, 9.0, 9.0], 100, [2, 4, 8, 4, 2, 1, 1]),
    ],
    ids=["twice as many", "to its limit", "one after another", "half as many when it is slow"],
)
def test_how_many_at_once(rounds: list[float], most: int, expected: list[int]) -> None:
    at_once, seen = 1, []
    for slowest in rounds:
        at_once = widened(at_once, slowest_seconds=slowest, most=most)
        seen.append(at_once)
    assert seen == expected


def test_what_has_failed_or_was_slow_ails() -> None:
    assert not ails(Circuit.CLOSED, None)
    assert not ails(Circuit.CLOSED, 1.9)
    assert ails(Circuit.CLOSED, 2.0)
    assert ails(Circuit.OPEN, 0.1)
    assert ails(Circuit.HALF_OPEN, None)
