"""The scenarios of `python -m bench`: each runs on the servers given, prints as it goes and judges."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from bench import (
    console,
    doorbell,
    fanout,
    growth,
    herd,
    polls,
    report,
    requests,
    throughput,
    webhooks,
)
from bench.load import wait_for_quiet
from bench.peers import measure as side_by_side
from bench.peers import table
from bench.peers.opened import open_all
from bench.report import Promise
from tests.architecture.large_inbox import Amounts
from tests.support.servers import Server

Ran = tuple[Any, Iterable[Promise]]
"""What the result file tells, and the promises."""
Judge = Callable[[Any], Iterable[Promise]]
Runner = Callable[[list[Server], Path, argparse.Namespace], Ran]


def _throughput(running: list[Server], folder: Path, args: argparse.Namespace) -> Ran:
    with contextlib.ExitStack() as closing:
        stages = {}
        for server in running:
            stage = throughput.Stage(server, folder / f"{server.kind}-web", throughput.SIDES)
            closing.callback(stage.close)
            stages[server.kind] = stage
        rows = []
        for row in throughput.measure(
            stages,
            batches=[int(batch) for batch in args.batches.split(",")],
            rounds=args.rounds,
            seconds=args.seconds,
            calm=lambda: wait_for_quiet(args.quiet_seconds),
        ):
            rows.append(row)
            print(".", end="", flush=True)
    print()
    for line in report.throughput_table(rows):
        print(line)
    return [row.told() for row in rows], report.throughput_promises(rows)


def _requests(running: list[Server], folder: Path, args: argparse.Namespace) -> Ran:
    found = []
    for server in running:
        for one in requests.measure(
            server,
            folder / f"{server.kind}-requests",
            pairs=3 if args.short else 9,
            calls=5 if args.short else 10,
            calm=lambda: wait_for_quiet(args.quiet_seconds / 4),
        ):
            found.append(one)
            print(
                f"  {one.kind} {one.case}: {one.ratio:.2f} of {one.floor}, {one.rate:,.0f} a second"
                f" (p50 {one.p50_ms:.1f} ms, {one.floor_p50_ms:.1f} there)"
            )
    return [one.told() for one in found], report.request_promises(found)


def _growth(running: list[Server], folder: Path, args: argparse.Namespace) -> Ran:
    scale = 0.05 if args.short else 1
    rows = [int(int(count) * scale) for count in args.rows.split(",")]
    compared: list[growth.Growth] = []
    guarded: list[growth.Touched] = []
    for server in running:
        found, touched = growth.measure(
            server, rows, around=Amounts().scaled(scale), samples=60 if args.short else 200
        )
        for one in found:
            print(
                f"  {one.kind} {one.verb}, {one.case}: {one.ratio:.2f}"
                f" ({one.few_ms:.2f} ms among few, {one.many_ms:.2f} ms)"
            )
        for two in touched:
            print(f"  {two.kind} {two.case}: {two.rows} rows of {two.bound}")
            for fault in two.faults:
                print(f"    {fault}")
        compared += found
        guarded += touched
    told = {"compared": [one.told() for one in compared], "touched": [t.told() for t in guarded]}
    return told, [*report.growth_promises(compared), *report.guard_promises(guarded)]


def _fanout(running: list[Server], folder: Path, args: argparse.Namespace) -> Ran:
    found = []
    for server in running:
        wait_for_quiet(args.quiet_seconds)
        one = fanout.measure(server, posts=10 if args.short else 50)
        found.append(one)
        print(f"  {one.kind}: {one.raw_ms:.1f} ms raw, {one.post_ms:.1f} ms a post")
    return [one.told() for one in found], report.fanout_promises(found)


def _figures(measure: Callable[[Server, Path, argparse.Namespace], Any], judge: Judge) -> Runner:
    """A scenario that gives one set of figures of each server."""

    def run(running: list[Server], folder: Path, args: argparse.Namespace) -> Ran:
        found = []
        for server in running:
            wait_for_quiet(args.quiet_seconds)
            one = measure(server, folder, args)
            found.append(one)
            for name, figure in one.told().items():
                print(f"  {server.kind} {name}: {figure}")
        return [one.told() for one in found], judge(found)

    return run


def _doorbell(server: Server, folder: Path, args: argparse.Namespace) -> Any:
    return doorbell.measure(
        server,
        folder / f"{server.kind}-bell",
        ringing=200 if args.short else 1_000,
        idle=2_000 if args.short else 10_000,
        rings=50 if args.short else 300,
        seconds=5 if args.short else 20,
    )


def _polls(server: Server, folder: Path, args: argparse.Namespace) -> Any:
    return polls.measure(
        server,
        folder / f"{server.kind}-polls",
        wakes=40 if args.short else 200,
        seconds=8 if args.short else 15,
    )


def _herd(server: Server, folder: Path, args: argparse.Namespace) -> Any:
    return herd.measure(
        server,
        folder / f"{server.kind}-herd",
        streams=200 if args.short else 1_000,
        rounds=1 if args.short else 3,
    )


def _webhooks(server: Server, folder: Path, args: argparse.Namespace) -> Any:
    return webhooks.measure(
        server, folder / f"{server.kind}-hooks", seconds=48 if args.short else 120
    )


def _console(running: list[Server], folder: Path, args: argparse.Namespace) -> Ran:
    found = []
    for server in running:
        for one in console.measure(
            server,
            events=args.console_events // (20 if args.short else 1),
            agents=args.console_agents,
            samples=5 if args.short else 11,
        ):
            found.append(one)
            print(
                f"  {one.kind} {one.ratio:.2f}: {one.small_ms:.1f} ms few,"
                f" {one.large_ms:.1f} ms many, {one.address}"
            )
    return [one.told() for one in found], report.console_promises(found)


def _peers(running: list[Server], folder: Path, args: argparse.Namespace) -> Ran:
    with contextlib.ExitStack() as closing:
        names = [name for name in args.peers.split(",") if name]
        peers, left_out = open_all(names, running, folder, closing)
        rows = []
        for row in side_by_side.measure(
            peers,
            batches=[int(batch) for batch in args.batches.split(",")],
            rounds=args.rounds,
            seconds=args.seconds,
            calm=lambda: wait_for_quiet(args.quiet_seconds),
        ):
            rows.append(row)
            print("." if row.cell else f"\n{row.peer}: {row.fault}", end="", flush=True)
    print("\n")
    for line in table.tables(rows, peers, left_out):
        print(line)
    told = {
        "peers": {peer.name: {"durable": peer.durable, "said": peer.said} for peer in peers},
        "left_out": left_out,
        "rows": [row.told() for row in rows],
    }
    return told, table.promises(rows)


RUNNERS: dict[str, Runner] = {
    "peers": _peers,
    "throughput": _throughput,
    "requests": _requests,
    "growth": _growth,
    "fanout": _fanout,
    "doorbell": _figures(_doorbell, report.doorbell_promises),
    "polls": _figures(_polls, report.polls_promises),
    "herd": _figures(_herd, report.herd_promises),
    "webhooks": _figures(_webhooks, report.webhook_promises),
    "console": _console,
}
