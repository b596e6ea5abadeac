"""Figures for Prometheus (contract section 8). Counted where things happen, summed over processes.

With PROMETHEUS_MULTIPROC_DIR set before this is imported the figures are in files of that folder,
one process each; what concerns the database comes from the last sample. A scrape asks nothing.
"""

from __future__ import annotations

import os
import threading
import time
from bisect import bisect_left
from collections import Counter as Counts
from collections.abc import Iterable, Sequence
from pathlib import Path

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
    multiprocess,
)
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from restante.observations import Observation, What
from restante.sampling.samples import ALL, Figures, Measure

FOLDER = "PROMETHEUS_MULTIPROC_DIR"
MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
disable_created_metrics()
_OURS = CollectorRegistry()
_LENGTHS_MS = (5, 10, 25, 50, 100, 250, 500, 1_000, 5_000, 30_000, 300_000, 3_600_000, 86_400_000)
_LENGTHS_SECONDS = (0.1, 0.5, 1, 5, 15, 60, 300, 900, 3_600, 14_400, 86_400)
_REQUESTS_SECONDS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 30)


def _counter(name: str, says: str, *labels: str) -> Counter:
    return Counter(name, says, labels, registry=_OURS)


COUNTERS = {
    What.CLAIMED: _counter("claims_total", "Events claimed.", "kind"),
    What.CLAIMED_NOTHING: _counter(
        "claims_empty_with_claimable_total",
        "Claims that got nothing though something was claimable.",
    ),
    What.LEASE_EXPIRED: _counter("lease_expirations_total", "Leases that ended by their time."),
    What.ATTEMPT_FAILED: _counter("attempts_failed_total", "Attempts that failed.", "cause"),
    What.QUARANTINED: _counter("quarantined_total", "Events put into quarantine.", "reason"),
    What.STALE_SETTLE: _counter("stale_settles_total", "Settles refused.", "verb", "reason"),
    What.CALLBACK_TRIED: _counter("callback_attempts_total", "Deliveries to callbacks.", "outcome"),
}
for _what, _values in {
    What.CLAIMED: ("first", "again"),
    What.ATTEMPT_FAILED: ("lease_expired", "released", "rejected"),
    What.QUARANTINED: ("attempts_exhausted", "release_loop", "rejected"),
}.items():
    for _value in _values:  # they begin at nought, where a rate can begin too
        COUNTERS[_what].labels(_value)
BOUNDS: dict[str, tuple[float, ...]] = {
    What.DELIVERED_MS.value: _LENGTHS_MS,
    What.COMPLETED_SECONDS.value: _LENGTHS_SECONDS,
    "request": _REQUESTS_SECONDS,
}
HISTOGRAMS = {
    What.DELIVERED_MS: Histogram(
        "delivery_latency_ms", "From available_at to ack.", buckets=_LENGTHS_MS, registry=_OURS
    ),
    What.COMPLETED_SECONDS: Histogram(
        "completion_seconds", "From first claim to ack.", buckets=_LENGTHS_SECONDS, registry=_OURS
    ),
}
REQUESTS = Histogram(
    "http_request_seconds",
    "Requests by route, streams and held calls left out.",
    ("method", "route", "status"),
    buckets=_REQUESTS_SECONDS,
    registry=_OURS,
)
RINGS = _counter("rings_total", "Listeners woken by a ring.")
RETRIES = _counter("deadlock_retries_total", "Units of work begun again.", "statement")
RETRIES.labels("COMMIT")
STREAMS = Gauge("streams_open", "Open streams.", registry=_OURS, multiprocess_mode="livesum")
LEASE_RATE = Gauge(
    "lease_expiration_rate",
    "Leases that ended by their time, a second, over the last minute.",
    registry=_OURS,
    multiprocess_mode="livesum",
)


class _Sampled(Collector):
    """What the last sample says of the database."""

    def __init__(self, figures: Figures, age_seconds: float) -> None:
        self._figures = figures
        self._age_seconds = age_seconds

    def collect(self) -> Iterable[Metric]:
        depth = GaugeMetricFamily(
            "inbox_depth_per_agent",
            "Pending events; agents beyond the deepest are `rest`.",
            labels=["agent"],
        )
        for (scope, measure), amount in sorted(self._figures.items()):
            if measure == Measure.PENDING and scope != ALL:
                depth.add_metric([scope], amount)
            elif measure == Measure.DEPTH_OF_THE_REST:
                depth.add_metric(["rest"], amount)
        yield depth
        for measure, says in (
            (Measure.OLDEST_PENDING_AGE, "Age of the oldest pending event."),
            (Measure.OLDEST_TIMER_AGE, "Age of the oldest timer that is due and has not run."),
        ):
            yield GaugeMetricFamily(measure.value, says, self._figures.get((ALL, measure)))
        sampled = self._figures.get((ALL, Measure.SAMPLE_AGE))
        yield GaugeMetricFamily(
            Measure.SAMPLE_AGE.value,
            "Age of the sample that the figures of the database come from.",
            None if sampled is None else sampled + self._age_seconds,
        )


class _OfAllProcesses(Collector):
    """The figures in the shared files, and the names of those that nothing has been counted of."""

    def __init__(self, folder: str) -> None:
        self._files = multiprocess.MultiProcessCollector(None, path=folder)

    def collect(self) -> Iterable[Metric]:
        counted = list(self._files.collect())
        yield from counted
        names = {family.name for family in counted}
        for family in _OURS.collect():
            if family.name not in names:
                yield Metric(family.name, family.documentation, family.type)


class _Lengths:
    """Lengths summed up by the buckets of a histogram."""

    __slots__ = ("_bounds", "counts", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, lengths: Sequence[float]) -> None:
        for length in lengths:
            self.counts[bisect_left(self._bounds, length)] += 1
        self.total += sum(lengths)

    def carry_into(self, histogram: Histogram) -> None:
        """Add to a histogram of the same buckets, which has no public way for more than one at once."""
        histogram._sum.inc(self.total)  # noqa: SLF001 - see above
        for bucket, count in zip(histogram._buckets, self.counts, strict=True):  # noqa: SLF001 - see above
            if count:
                bucket.inc(count)


class Metrics:
    """The figures of this process, and how they are shown together with those of its neighbours.

    What happens is summed up in memory, and `flush` carries the sums into the shared files: a
    request pays for neither.
    """

    def __init__(self) -> None:
        self._figures: Figures = {}
        self._read_at = time.monotonic()
        self.expired_leases = 0
        self._lock = threading.Lock()
        self._counts: Counts[tuple[What, tuple[str, ...]]] = Counts()
        self._lengths: dict[tuple[str, ...], _Lengths] = {}

    @property
    def figures(self) -> Figures:
        """The last sample."""
        return self._figures

    @figures.setter
    def figures(self, figures: Figures) -> None:
        self._figures, self._read_at = figures, time.monotonic()

    def observe(self, observations: Sequence[Observation]) -> None:
        """Count what verbs have noticed (observations.ON_OBSERVED)."""
        with self._lock:
            for what, labels, times, lengths, _ in observations:
                if lengths:
                    self._lengths_of(what.value).add(lengths)
                else:
                    self._counts[what, labels] += times

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request that has been answered."""
        with self._lock:
            self._lengths_of("request", method, route, str(status)).add((seconds,))

    def flush(self) -> None:
        """Carry the sums over."""
        with self._lock:
            counts, self._counts = self._counts, Counts()
            lengths, self._lengths = self._lengths, {}
        for (what, labels), times in counts.items():
            (COUNTERS[what].labels(*labels) if labels else COUNTERS[what]).inc(times)
            if what is What.LEASE_EXPIRED:
                self.expired_leases += times
        for (name, *labels_of), some in lengths.items():
            some.carry_into(REQUESTS.labels(*labels_of) if labels_of else HISTOGRAMS[What(name)])

    def _lengths_of(self, name: str, *labels: str) -> _Lengths:
        found = self._lengths.get((name, *labels))
        if found is None:
            bounds = BOUNDS["request" if labels else name]
            found = self._lengths[name, *labels] = _Lengths(bounds)
        return found

    def render(self) -> bytes:
        """The text of /metrics; what other processes have not carried over yet comes next time."""
        self.flush()
        registry = CollectorRegistry()
        registry.register(_Sampled(self._figures, time.monotonic() - self._read_at))
        if folder := os.environ.get(FOLDER):
            registry.register(_OfAllProcesses(folder))
            return generate_latest(registry)
        return generate_latest(_OURS) + generate_latest(registry)


def forget_process(pid: int) -> None:
    """A process has died: what it held is held no more. Its counts stay."""
    multiprocess.mark_process_dead(pid)


def forget_the_dead(folder: Path) -> None:
    """At the start of a server: drop the files of processes that are there no longer."""
    for file in folder.glob("*.db"):
        pid = file.stem.rpartition("_")[2]
        if pid.isdigit() and not Path(f"/proc/{pid}").exists():
            file.unlink(missing_ok=True)
