"""Charts as shapes in SVG, made by the server: scales, ticks and paths. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

WIDE = 1000
"""Width of what is drawn, stretched to the page; heights are pixels."""
HIGH = 150
LANE = 26
TOP = 8
Values = Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Line:
    """`path` of an SVG, with a gap where nothing is known; `last`: the newest value that is."""

    name: str
    path: str
    last: float | None


@dataclass(frozen=True, slots=True)
class Tick:
    """A value on the axis and its height."""

    value: float
    y: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """`lane`: bars below with a maximum of their own."""

    lines: Sequence[Line]
    ticks: Sequence[Tick]
    lane: str = ""
    lane_most: float = 0

    @property
    def empty(self) -> bool:
        """Nothing is known of the whole range."""
        return all(line.last is None for line in self.lines)


def chart(
    named: Sequence[tuple[str, Values]], *, lane: Values = (), logarithmic: bool = False
) -> Chart:
    """Lines on one scale from 0, or on a logarithmic one over whole decades."""
    known = [value for _, values in named for value in values if value is not None]
    if logarithmic:
        positive = [value for value in known if value > 0]
        low = math.floor(math.log10(min(positive, default=1)))
        high = max(math.ceil(math.log10(max(positive, default=10))), low + 1)
        ticks = [10.0**power for power in range(low, high + 1)]

        def place(value: float) -> float:
            return (math.log10(max(value, 10.0**low)) - low) / (high - low)

    else:
        step, most = _round_up(max(known, default=0))
        ticks = [step * number for number in range(round(most / step) + 1)]

        def place(value: float) -> float:
            return value / most

    def height(value: float) -> float:
        return TOP + (HIGH - TOP) * (1 - place(value))

    lines = [Line(name, path(values, height), _last(values)) for name, values in named]
    marks = [Tick(value, round(height(value), 1)) for value in ticks]
    most_in_lane = max((value or 0 for value in lane), default=0)
    bars = _bars(lane, most_in_lane, LANE, HIGH + 6) if most_in_lane else ""
    return Chart(lines=lines, ticks=marks, lane=bars, lane_most=most_in_lane)


def spark(values: Values, *, bars: bool = False) -> str:
    """The path of a small line of 20 pixels' height, or of bars."""
    known = [value for value in values if value is not None]
    low, most = min(known, default=0), max(known, default=0)
    if bars:
        return _bars(values, most, 18, 1) if most else ""
    low = 0 if low < most / 2 else low * 0.9
    if most <= low:
        return path(values, lambda _: 17)
    return path(values, lambda value: 2 + 16 * (1 - (value - low) / (most - low)))


def path(values: Values, height: Callable[[float], float]) -> str:
    """A line through the values, evenly apart; what is not known is left out."""
    across = WIDE / max(len(values) - 1, 1)
    parts, pen_down = [], False
    for number, value in enumerate(values):
        if value is None:
            pen_down = False
            continue
        place = f"{number * across:.0f} {height(value):.1f}"
        # a point with nothing beside it is a dot: a line of no length with round ends
        parts.append(f"L{place}" if pen_down else f"M{place}h0")
        pen_down = True
    return "".join(parts)


def across_at(share: float) -> int:
    """Where a share of the range lies."""
    return round(WIDE * min(max(share, 0.0), 1.0))


def _bars(values: Values, most: float, high: int, top: int) -> str:
    wide = WIDE / max(len(values), 1)
    parts = []
    for number, value in enumerate(values):
        if value:
            tall = max(1.5, high * value / most)
            left = number * wide + wide * 0.15
            parts.append(f"M{left:.0f} {top + high:g}v-{tall:.1f}h{wide * 0.7:.1f}v{tall:.1f}z")
    return "".join(parts)


def _last(values: Values) -> float | None:
    return next((value for value in reversed(values) if value is not None), None)


def _round_up(most: float) -> tuple[float, float]:
    """A step of 1, 2 or 5 times a power of ten, and so many of it that all fits: at most five."""
    if most <= 0:
        return 1.0, 1.0
    power = 10.0 ** math.floor(math.log10(most))
    for step in (power / 5, power / 2, power, power * 2):
        if most <= step * 5:
            return step, step * math.ceil(most / step)
    raise AssertionError
