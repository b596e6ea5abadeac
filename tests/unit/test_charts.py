"""Shapes of charts and what they say: scales, gaps, classes of latency."""

from __future__ import annotations

import pytest

from blueprints.console.charts import HIGH, TOP, chart, path, spark
from blueprints.console.history import UNKNOWN, rate, short, within
from restante.observations import Observation, What
from restante.sampling.series import percentile_ms
from restante.sampling.tally import CLASSES_MS, Counts, Tally
from restante.storage.tables.operation import DELIVERED_CLASSES


@pytest.mark.parametrize(
    ("most", "ticks"),
    [
        (0, [0, 1]),
        (0.7, [0, 0.2, 0.4, 0.6, 0.8]),
        (912, [0, 200, 400, 600, 800, 1000]),
        (1204, [0, 500, 1000, 1500]),
        (6140, [0, 2000, 4000, 6000, 8000]),
    ],
)
def test_a_scale_begins_at_nought_and_goes_by_round_steps(most: float, ticks: list[float]) -> None:
    made = chart((("one", [0, most, None]),))
    assert [pytest.approx(tick.value) for tick in made.ticks] == ticks
    assert made.ticks[0].y == HIGH
    assert made.ticks[-1].y == TOP
    assert made.lines[0].last == most


def test_a_logarithmic_scale_has_whole_decades() -> None:
    made = chart((("p50", [0.2, 1.8]), ("p99", [None, 192])), logarithmic=True)
    assert [round(tick.value, 3) for tick in made.ticks] == [0.1, 1, 10, 100, 1000]
    assert not made.empty
    assert chart((("p50", [None, None]),), logarithmic=True).empty


def test_what_is_not_known_is_a_gap() -> None:
    assert path([1, 2, None, 3, 4], lambda value: value) == "M0 1.0h0L250 2.0M750 3.0h0L1000 4.0"
    assert path([None, None], lambda value: value) == ""


def test_rare_things_have_a_lane_of_their_own() -> None:
    made = chart((("one", [1, 1]),), lane=[0, 55])
    assert made.lane_most == 55
    assert made.lane.count("z") == 1
    assert chart((("one", [1]),), lane=[0]).lane == ""
    assert spark([0, 0], bars=True) == ""


def test_latency_is_told_from_its_classes() -> None:
    tally = Tally()
    lengths = [5.0] * 50 + [2_000.0] * 45 + [10**9] * 5
    tally.observe([Observation(What.DELIVERED_MS, lengths=lengths, recipient_id=b"r")])
    tally.observe([Observation(What.DELIVERED_MS, lengths=[1.0])])  # nobody's
    counts = tally.take()[b"r"]
    assert len(CLASSES_MS) + 1 == len(counts.delivered) == DELIVERED_CLASSES
    shares = [percentile_ms(counts.delivered, share) or 0 for share in (0.5, 0.95, 0.99)]
    assert shares == [10, 3_000, 2 * 10**8]
    assert [within(ms / 1000).replace("\N{NO-BREAK SPACE}", " ") for ms in shares] == [
        "\N{LESS-THAN OR EQUAL TO} 10 ms",
        "\N{LESS-THAN OR EQUAL TO} 3 s",
        "> 28 h",
    ]
    assert percentile_ms(Counts().delivered, 0.5) is None
    assert within(None) == UNKNOWN
    assert tally.take() == {}


def test_what_could_not_be_written_counts_next_time() -> None:
    tally = Tally()
    seen = Observation(What.LEASE_EXPIRED, recipient_id=b"r")
    tally.observe([seen])
    taken = tally.take()
    tally.observe([seen])
    tally.give_back(taken)
    assert tally.take()[b"r"].lease_expirations == 2


def test_numbers_are_short() -> None:
    assert [short(s) for s in (None, 0.041, 1.84, 41.2, 192, 9_000, 400_000)] == [
        "\u2013",
        "41\u00a0ms",
        "1.8\u00a0s",
        "41\u00a0s",
        "3.2\u00a0min",
        "2.5\u00a0h",
        "4.6\u00a0d",
    ]
    assert [rate(n) for n in (None, 0, 0.25, 912.4)] == ["\u2013", "0", "0.2", "912"]
