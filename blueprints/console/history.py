"""A tenant's history as the overview shows it: the charts, the small lines in the figures, what they say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from blueprints.console.charts import Chart, across_at, chart, spark
from restante.sampling.series import Point, Range
from restante.sampling.tally import CLASSES_MS

UNKNOWN = "\N{EN DASH}"
HOURS = 5
"""Times below a chart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """`sparks`: by figure; `burns`: where the fire began, of 1000; `hours`: instants below, evenly apart."""

    mail: Chart
    latency: Chart
    sparks: dict[str, str]
    burns: int | None
    hours: Sequence[datetime]
    points: Sequence[Point]


def shown(points: Sequence[Point], wanted: Range, *, since: datetime | None) -> Shown:
    """`since`: when the present fire began, if there is one."""
    first = points[0].at
    within = since is not None and since >= first
    share = (since - first) / wanted.length if since is not None and within else 0.0
    return Shown(
        mail=chart(
            (
                ("Arrivals", [point.arrivals for point in points]),
                ("Completions", [point.completions for point in points]),
            ),
            lane=[point.quarantinings for point in points],
        ),
        latency=chart(
            (
                ("p50", [_seconds(point.p50_ms) for point in points]),
                ("p95", [_seconds(point.p95_ms) for point in points]),
                ("p99", [_seconds(point.p99_ms) for point in points]),
            ),
            logarithmic=True,
        ),
        sparks={
            "pending": spark([point.pending for point in points]),
            "oldest": spark([point.oldest_pending_seconds for point in points]),
            "claimed": spark([point.claimed for point in points]),
            "quarantined": spark([point.quarantined for point in points]),
            "leases": spark([point.lease_expirations for point in points], bars=True),
            "delivery": spark([_seconds(point.p50_ms) for point in points]),
        },
        burns=across_at(share) if within else None,
        hours=[first + wanted.length * number / (HOURS - 1) for number in range(HOURS)],
        points=points,
    )


def short(seconds: float | None) -> str:
    """`1.8 s`, `41 s`, `3.2 min`: two digits that count."""
    if seconds is None:
        return UNKNOWN
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{_two(seconds / size)}\N{NO-BREAK SPACE}{unit}"
    if seconds < 1:
        return f"{seconds * 1000:.0f}\N{NO-BREAK SPACE}ms"
    return f"{_two(seconds)}\N{NO-BREAK SPACE}s"


def within(seconds: float | None) -> str:
    """What lengths of a class are not above, all that a histogram knows of them; or what they are above."""
    if seconds is None:
        return UNKNOWN
    longest = CLASSES_MS[-1] / 1000
    if seconds > longest:
        return f">\N{NO-BREAK SPACE}{short(longest)}"
    return f"\N{LESS-THAN OR EQUAL TO}\N{NO-BREAK SPACE}{short(seconds)}"


def rate(number: float | None) -> str:
    """A number a minute."""
    if number is None:
        return UNKNOWN
    return f"{number:,.0f}" if number >= 10 else _two(number)


def _two(number: float) -> str:
    return f"{number:.0f}" if number >= 10 or number == int(number) else f"{number:.1f}"


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000
