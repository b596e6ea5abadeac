"""What was measured, as tables and as the verdict on each promise."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench import console, doorbell, fanout, growth, herd, polls, throughput, webhooks
from bench.console import Shown
from bench.doorbell import Doorbell
from bench.fanout import Fanout
from bench.growth import Growth, Touched
from bench.herd import Herd
from bench.polls import Polls
from bench.requests import Asked
from bench.throughput import Row, medians
from bench.webhooks import Deliveries

HALVES = {"publish": "publish", "consume": "claim + ack"}


@dataclass(frozen=True)
class Promise:
    """Something the product has to keep, and whether it did. `detail`: what is of this run alone."""

    what: str
    figure: float
    bound: float
    at_least: bool
    detail: str = ""

    @property
    def kept(self) -> bool:
        """Whether the figure is on the right side of its bound."""
        return self.figure >= self.bound if self.at_least else self.figure <= self.bound

    def line(self) -> str:
        """For a person."""
        sign = ">=" if self.at_least else "<="
        word = "kept  " if self.kept else "BROKEN"
        detail = f"  ({self.detail})" if self.detail else ""
        return f"  {word}  {self.what:<58} {self.figure:8.2f}  {sign} {self.bound:g}{detail}"


def throughput_table(rows: Sequence[Row]) -> Iterable[str]:
    """Events a second and the ratios to the raw statements."""
    rates, costs = medians(rows), medians(rows, "processor_us")
    yield f"  {'':28}{'events/s':>10}{'of raw':>9}{'processor µs':>14}{'of raw':>9}"
    for key in sorted(rates, key=lambda k: (k[0], k[3], k[2], throughput.SIDES.index(k[1]))):
        kind, side, batch, half = key
        raw = (kind, "raw", batch, half)
        rate, cost = rates[key], costs[key]
        ratio = f"{rate / rates[raw]:.2f}" if raw in rates else "-"
        share = f"{costs[raw] / cost:.2f}" if raw in costs else "-"
        name = f"{kind} {HALVES[half]} b{batch} {side}"
        yield f"  {name:<40}{rate:>10,.0f}{ratio:>9}{cost:>12,.0f}{share:>9}"


def throughput_promises(rows: Sequence[Row]) -> Iterable[Promise]:
    """The ratio to raw, by batch and half."""
    rates = medians(rows)
    for (kind, side, batch, half), rate in sorted(rates.items()):
        bound = throughput.LEAST[half].get(batch)
        raw = rates.get((kind, "raw", batch, half))
        if side == "restante" and bound is not None and raw:
            what = f"{kind}: {HALVES[half]} at batch {batch}, of raw PyMySQL"
            yield Promise(what, rate / raw, bound, at_least=True)


def request_promises(found: Sequence[Asked]) -> Iterable[Promise]:
    """Each call's rate in that of its floor."""
    for one in found:
        what = f"{one.kind}: {one.case}, of {one.floor}"
        yield Promise(what, one.ratio, one.least, at_least=True)


def growth_promises(found: Sequence[Growth]) -> Iterable[Promise]:
    """The median among much in that among little."""
    for one in found:
        detail = f"{one.many_ms:.1f} of {one.few_ms:.1f} ms"
        what = f"{one.kind}: {one.verb}, {one.case}"
        yield Promise(what, one.ratio, growth.MOST, at_least=False, detail=detail)


def guard_promises(found: Sequence[Touched]) -> Iterable[Promise]:
    """Of each verb the case that came nearest to its bound, and the plans that read too much."""
    for kind, verb in dict.fromkeys((one.kind, one.verb) for one in found):
        mine = [one for one in found if (one.kind, one.verb) == (kind, verb)]
        worst = max(mine, key=lambda one: one.rows / one.bound)
        detail = f"{worst.case}: {worst.rows} of {worst.bound}"
        what = f"{kind}: rows touched by {verb}, of its bound"
        yield Promise(what, worst.rows / worst.bound, 1, at_least=False, detail=detail)
        what = f"{kind}: plans of {verb} that scan, merge or sort"
        yield Promise(what, sum(len(one.faults) for one in mine), 0, at_least=False)


def fanout_promises(found: Sequence[Fanout]) -> Iterable[Promise]:
    """The rate of one post's events to that of as many raw rows."""
    for one in found:
        what = f"{one.kind}: a post to 1,000 members, of 1,000 raw rows"
        yield Promise(what, one.ratio, fanout.LEAST, at_least=True)


def doorbell_promises(found: Sequence[Doorbell]) -> Iterable[Promise]:
    """Frames, memory, and the probe."""
    for one in found:
        kind, ringing, idle = one.kind, f"{one.ringing:,}", f"{one.idle:,}"
        for what, figure, bound in (
            (
                f"publish to frame, {ringing} streams, p50 ms",
                one.frame_p50_ms,
                doorbell.MOST_P50_MS,
            ),
            (
                f"publish to frame, {ringing} streams, p99 ms",
                one.frame_p99_ms,
                doorbell.MOST_P99_MS,
            ),
            (
                f"publish at another host to frame, {ringing} streams, p99 ms",
                one.elsewhere_p99_ms,
                doorbell.MOST_ELSEWHERE_P99_MS,
            ),
            (f"memory of an idle stream of {idle}, KiB", one.rss_kb, doorbell.MOST_RSS_KB),
            (
                f"statements of {idle} idle streams, of {doorbell.FEW}",
                one.statements_ratio,
                doorbell.MOST_STATEMENTS,
            ),
            (f"a call's p99 beside {idle} streams, of alone", one.probe_ratio, doorbell.MOST_PROBE),
        ):
            yield Promise(f"{kind}: {what}", figure, bound, at_least=False)


def polls_promises(found: Sequence[Polls]) -> Iterable[Promise]:
    """A wake beside the calls it stands for, and what waiting asks of the database."""
    for one in found:
        what = f"{one.kind}: wake of a held poll, of a publish and a read"
        yield Promise(what, one.wake_ratio, polls.MOST_WAKE, at_least=False)
        what = f"{one.kind}: statements of a poll of {polls.WAIT_SECONDS} s that finds nothing"
        yield Promise(what, one.poll_statements, polls.MOST_STATEMENTS, at_least=False)


def herd_promises(found: Sequence[Herd]) -> Iterable[Promise]:
    """How soon all are back."""
    for one in found:
        what = f"{one.kind}: {one.streams:,} streams back after a restart, of a bare Flask"
        detail = f"{one.back_seconds:.1f} of {one.flask_seconds:.1f} s, answers {one.answers}"
        yield Promise(what, one.ratio, herd.MOST, at_least=False, detail=detail)


def webhook_promises(found: Sequence[Deliveries]) -> Iterable[Promise]:
    """Deliveries beside three receivers that do not answer."""
    for one in found:
        what = f"{one.kind}: p99 of 197 callbacks beside 3 bad ones, of alone"
        yield Promise(what, one.ratio, webhooks.MOST, at_least=False)


def console_promises(found: Sequence[Shown]) -> Iterable[Promise]:
    """Of each server's pages the one that came nearest, and how many are over."""
    for kind in dict.fromkeys(one.kind for one in found):
        mine = [one for one in found if one.kind == kind]
        worst = max(mine, key=lambda one: one.ratio)
        what = f"{kind}: the page that many events slow down most"
        yield Promise(what, worst.ratio, console.MOST, at_least=False, detail=worst.address)
        what = f"{kind}: pages over that"
        over = sum(one.ratio > console.MOST for one in mine)
        yield Promise(what, over, 0, at_least=False, detail=f"of {len(mine)}")
