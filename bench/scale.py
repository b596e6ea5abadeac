"""`python -m bench.scale`: what a load needs, where the first limit is, how tenants lie on groups.

Arithmetic on figures that `bench/one_inbox.py` and `bench/doorbell.py` measured, and two small
simulations with a fixed seed: publishers that wait for one inbox, and tenants of unequal size. Starts
nothing and takes a second. docs/scale.md explains it.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

DAY_SECONDS = 86_400
SEED = 20


@dataclass(frozen=True)
class Load:
    """What is asked for. A day's events come in peaks of `peak` times their mean."""

    agents: int = 1_000_000
    streams: int = 100_000
    events_a_day: float = 1e9
    peak: float = 3.0
    payload_bytes: int = 1_000
    retention_days: float = 30.0
    unsettled_hours: float = 1.0
    """For so long an event waits; then its payload is dropped."""
    log_days: float = 2.0
    """For so long binary logs are kept."""
    tenants: int = 10_000
    skew: float = 0.8
    """A tenant's share falls with its rank to this power (Zipf)."""

    @property
    def peak_rate(self) -> float:
        """Events a second at the peak."""
        return self.events_a_day / DAY_SECONDS * self.peak


@dataclass(frozen=True)
class Machines:
    """What a group's primary and a web node have, and how full they may be planned."""

    cores: int = 16
    disk_tb: float = 4.0
    full: float = 0.5


@dataclass(frozen=True)
class Figures:
    """Measured: microseconds of processor time, bytes, events a second (docs/scale.md says where).

    An event is published by a call of its own, and claimed and acked by tens.
    """

    database_us: float = 840.0
    web_us: float = 1_270.0
    empty_database_us: float = 670.0
    empty_web_us: float = 1_550.0
    inbox_rate: float = 620.0
    inbox_rate_by_hundreds: float = 6_400.0
    # the payload apart: it is dropped at completion
    live_bytes: float = 1_150.0
    archived_bytes: float = 760.0
    logged_bytes: float = 1_700.0
    stream_kib: float = 12.0
    streams_a_process: int = 10_000
    idle_poll_seconds: float = 300.0


@dataclass(frozen=True)
class Plan:
    """What it needs."""

    peak_rate: float
    web_cores: float
    web_nodes: int
    stream_memory_gib: float
    groups_by_writer: float
    groups_by_disk: float
    live_tb: float
    archived_tb_a_day: float
    logged_tb_a_day: float

    @property
    def groups(self) -> int:
        """So many groups of three, each with a writer."""
        return math.ceil(max(self.groups_by_writer, self.groups_by_disk))


def plan(load: Load, figures: Figures, machines: Machines) -> Plan:
    """What the load needs of such machines."""
    polls = (load.agents - load.streams) / figures.idle_poll_seconds
    web = load.peak_rate * figures.web_us + polls * figures.empty_web_us
    database = load.peak_rate * figures.database_us + polls * figures.empty_database_us
    usable = machines.cores * machines.full
    processes = max(web / 1e6 / machines.full, load.streams / figures.streams_a_process)
    kept = load.retention_days * figures.live_bytes + load.unsettled_hours / 24 * load.payload_bytes
    live_tb = load.events_a_day * kept / 1e12
    # the payload as it is written, and as it is removed
    logged_tb = load.events_a_day * (figures.logged_bytes + 2 * load.payload_bytes) / 1e12
    disk_tb = live_tb + load.log_days * logged_tb
    return Plan(
        peak_rate=load.peak_rate,
        web_cores=web / 1e6,
        web_nodes=math.ceil(processes / machines.cores),
        stream_memory_gib=load.streams * figures.stream_kib / 2**20,
        groups_by_writer=database / 1e6 / usable,
        groups_by_disk=disk_tb / (machines.disk_tb * machines.full),
        live_tb=live_tb,
        archived_tb_a_day=load.events_a_day * figures.archived_bytes / 1e12,
        logged_tb_a_day=logged_tb,
    )


def limits(load: Load, figures: Figures, machines: Machines) -> list[tuple[str, float]]:
    """What ends first as one of these grows: (what, events a day), the smallest first."""
    group = machines.cores * machines.full * 1e6 / figures.database_us
    found = [
        ("one inbox, an event a call", figures.inbox_rate * FULL_INBOX),
        ("one inbox, a hundred a call", figures.inbox_rate_by_hundreds * FULL_INBOX),
        ("one tenant, which is one group's writer", group),
    ]
    return sorted(((what, rate * DAY_SECONDS / load.peak) for what, rate in found), key=by_number)


def by_number(pair: tuple[str, float]) -> float:
    """For sorting."""
    return pair[1]


FULL_INBOX = 0.8
"""So full an inbox may be: beyond, publishers wait for each other (`wait_ms`)."""


def wait_ms(rate: float, full: float, *, calls: int = 50_000, seed: int = SEED) -> float:
    """p99 of a publisher's wait for others at one inbox, which takes `rate` calls a second.

    Calls come at random (Poisson), `full` of what it takes, and are served one after the other.
    """
    draw = random.Random(seed)
    service = 1.0 / rate
    waits, wait = [], 0.0
    for _ in range(calls):
        waits.append(wait)
        wait = max(0.0, wait + service - draw.expovariate(rate * full))
    return 1000 * sorted(waits)[int(0.99 * calls)]


def shares(load: Load) -> list[float]:
    """Of each tenant, the largest first; together 1."""
    sizes = [1 / rank**load.skew for rank in range(1, load.tenants + 1)]
    whole = sum(sizes)
    return [size / whole for size in sizes]


def fullest(sizes: Sequence[float], groups: int, *, by_size: bool, seed: int = SEED) -> float:
    """What the fullest group has of its fair share (1: all are alike).

    `by_size`: each tenant, the largest first, goes where there is least; else at random, as by a hash.
    """
    draw = random.Random(seed)
    held = [0.0] * groups
    for size in sizes:
        target = held.index(min(held)) if by_size else draw.randrange(groups)
        held[target] += size
    return max(held) * groups / sum(sizes)


def moved(load: Load, groups: int, *, months: int = 12, seed: int = SEED) -> float:
    """The fullest group's part of its fair share after so many months, if nobody is moved.

    Each month every tenant grows or shrinks by up to a fifth.
    """
    draw = random.Random(seed)
    sizes = shares(load)
    held = [0.0] * groups
    place = []
    for size in sizes:
        place.append(held.index(min(held)))
        held[place[-1]] += size
    for _ in range(months):
        sizes = [size * draw.uniform(0.8, 1.2) for size in sizes]
    after = [0.0] * groups
    for size, group in zip(sizes, place, strict=True):
        after[group] += size
    return max(after) * groups / sum(sizes)


def lines(load: Load, figures: Figures, machines: Machines) -> Iterator[str]:
    """The whole of it, for a person."""
    needed = plan(load, figures, machines)
    yield f"{load.agents:,} agents, {load.streams:,} streams, {load.events_a_day:,.0f} events a day"
    yield _row("peak", f"{needed.peak_rate:,.0f}", "events a second")
    yield _row("web", f"{needed.web_cores:,.0f}", f"cores busy, {needed.web_nodes} nodes")
    yield _row("streams", f"{needed.stream_memory_gib:.1f}", "GiB")
    yield _row("groups by writer", f"{needed.groups_by_writer:.1f}", f"{machines.cores} cores each")
    yield _row("groups by disk", f"{needed.groups_by_disk:.1f}", f"{machines.disk_tb:g} TB each")
    yield _row("groups", f"{needed.groups}", "of three members")
    yield _row("live events", f"{needed.live_tb:.1f}", f"TB, {load.retention_days:g} days of them")
    yield _row(
        "binary log", f"{needed.logged_tb_a_day:.1f}", f"TB a day, {load.log_days:g} days kept"
    )
    yield _row("archive, beside all that", f"{needed.archived_tb_a_day:.2f}", "TB a day, for ever")
    yield "limits, events a day at that peak"
    for what, events in limits(load, figures, machines):
        yield _row(what, f"{events:,.0f}")
    yield f"p99 of the wait for others at one inbox that takes {figures.inbox_rate:g} calls a second"
    for full in (0.5, 0.8, 0.9, 0.95):
        yield _row(f"{full:.0%} full", f"{wait_ms(figures.inbox_rate, full):,.0f}", "ms")
    sizes = shares(load)
    yield f"{load.tenants:,} tenants on {needed.groups} groups: what the fullest has of a fair share"
    yield _row("the largest tenant alone", f"{sizes[0] * needed.groups:.2f}")
    yield _row("by a hash", f"{fullest(sizes, needed.groups, by_size=False):.2f}")
    yield _row("by size", f"{fullest(sizes, needed.groups, by_size=True):.2f}")
    yield _row("by size, a year later", f"{moved(load, needed.groups):.2f}")


def _row(what: str, figure: str, unit: str = "") -> str:
    return f"  {what:<42}{figure:>16} {unit}".rstrip()


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    load, machines = Load(), Machines()
    for one in (load, machines):
        for field in fields(one):
            kind = type(getattr(one, field.name))
            name = "--" + field.name.replace("_", "-")
            parser.add_argument(name, type=kind, default=getattr(one, field.name))
    given = vars(parser.parse_args(argv))
    load = replace(load, **{f.name: given[f.name] for f in fields(load)})
    machines = replace(machines, **{f.name: given[f.name] for f in fields(machines)})
    for line in lines(load, Figures(), machines):
        print(line)


if __name__ == "__main__":
    main()
