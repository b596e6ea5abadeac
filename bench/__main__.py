"""`python -m bench`: what the product keeps of the database's own speed, on private servers.

Everything runs on loopback and ends by itself. See README.md beside this file for the method.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bench import console, doorbell, fanout, growth, report, throughput, webhooks
from bench.load import wait_for_quiet
from bench.peers import measure as side_by_side
from bench.peers import table
from bench.peers.opened import OTHERS, open_all
from bench.peers.own import settings
from bench.report import Promise
from tests.architecture.large_inbox import Amounts
from tests.support import servers
from tests.support.servers import Server

# besides these there is peers, whose servers and libraries the project itself does not need
SCENARIOS = ("throughput", "growth", "fanout", "doorbell", "webhooks", "console")
RESULTS = Path(__file__).with_name("results")


def main() -> None:
    sys.stdout.reconfigure(line_buffering=True)  # who has redirected it sees how far it is
    args = _arguments()
    began = time.monotonic()
    results: dict[str, Any] = {"machine": _machine(), "arguments": vars(args) | {"out": None}}
    promises: list[Promise] = []
    with contextlib.ExitStack() as closing:
        folder = Path(closing.enter_context(tempfile.TemporaryDirectory(dir=args.folder)))
        running = [_start(kind, folder, closing) for kind in args.kinds.split(",")]
        results["servers"] = {server.kind: settings(server) for server in running}
        for scenario in args.scenarios.split(","):
            print(f"\n{scenario}", flush=True)
            told, kept = _SCENARIOS[scenario](running, folder, args)
            results[scenario] = told
            promises += kept
            _write(args.out, results)
    print(f"\npromises ({time.monotonic() - began:.0f} s in all)")
    for promise in promises:
        print(promise.line())
    results["promises"] = [vars(p) | {"kept": p.kept} for p in promises]
    print(f"\n{_write(args.out, results)}")
    if args.strict and not all(promise.kept for promise in promises):
        sys.exit(1)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument(
        "--short", action="store_true", help="a few minutes: fewer, smaller, coarser"
    )
    parser.add_argument("--scenarios", default=",".join(SCENARIOS))
    parser.add_argument("--kinds", default="mariadb,mysql", help="database servers")
    parser.add_argument("--batches", default="1,10,100")
    parser.add_argument("--peers", default=",".join(OTHERS), help="of the scenario peers")
    parser.add_argument("--rounds", type=int, help="of throughput (3; short: 1)")
    parser.add_argument("--seconds", type=float, help="of each slice of throughput (1.5; short: 1)")
    parser.add_argument(
        "--quiet-seconds", type=float, default=2.0, help="wait so long for a calm machine"
    )
    parser.add_argument("--folder", help="where the servers' data lies (not in memory)")
    parser.add_argument(
        "--out", type=Path, help="the result file (default: bench/results/DATE.json)"
    )
    parser.add_argument("--strict", action="store_true", help="exit 1 where a promise is broken")
    args = parser.parse_args()
    args.rounds = args.rounds or (1 if args.short else 3)
    args.seconds = args.seconds or (1.0 if args.short else 1.5)
    return args


def _throughput(
    running: list[Server], folder: Path, args: argparse.Namespace
) -> tuple[Any, Iterable[Promise]]:
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


def _growth(
    running: list[Server], folder: Path, args: argparse.Namespace
) -> tuple[Any, Iterable[Promise]]:
    amounts = Amounts().scaled(0.05 if args.short else 1)
    compared: list[growth.Growth] = []
    guarded: list[growth.Touched] = []
    for server in running:
        found, touched = growth.measure(server, amounts, samples=60 if args.short else 300)
        for one in found:
            print(
                f"  {one.kind} {one.verb}: {one.empty_ms:.2f} ms empty, {one.full_ms:.2f} ms full"
            )
        for two in touched:
            print(f"  {two.kind} {two.case}: {two.rows} rows of {two.bound}")
            for fault in two.faults:
                print(f"    {fault}")
        compared += found
        guarded += touched
    told = {"compared": [one.told() for one in compared], "touched": [t.told() for t in guarded]}
    return told, [*report.growth_promises(compared), *report.guard_promises(guarded)]


def _fanout(
    running: list[Server], folder: Path, args: argparse.Namespace
) -> tuple[Any, Iterable[Promise]]:
    found = []
    for server in running:
        wait_for_quiet(args.quiet_seconds)
        one = fanout.measure(server, posts=10 if args.short else 50)
        found.append(one)
        print(f"  {one.kind}: {one.raw_ms:.1f} ms raw, {one.post_ms:.1f} ms a post")
    return [one.told() for one in found], report.fanout_promises(found)


def _doorbell(
    running: list[Server], folder: Path, args: argparse.Namespace
) -> tuple[Any, Iterable[Promise]]:
    found = []
    for server in running:
        one = doorbell.measure(
            server,
            folder / f"{server.kind}-bell",
            ringing=200 if args.short else 1_000,
            idle=2_000 if args.short else 10_000,
            rings=50 if args.short else 300,
            seconds=5 if args.short else 20,
        )
        found.append(one)
        for name, figure in one.told().items():
            print(f"  {server.kind} {name}: {figure}")
    return [one.told() for one in found], report.doorbell_promises(found)


def _webhooks(
    running: list[Server], folder: Path, args: argparse.Namespace
) -> tuple[Any, Iterable[Promise]]:
    found = []
    for server in running:
        one = webhooks.measure(
            server, folder / f"{server.kind}-hooks", seconds=48 if args.short else 120
        )
        found.append(one)
        for name, figure in one.told().items():
            print(f"  {server.kind} {name}: {figure}")
    return [one.told() for one in found], report.webhook_promises(found)


def _console(
    running: list[Server], folder: Path, args: argparse.Namespace
) -> tuple[Any, Iterable[Promise]]:
    found = []
    for server in running:
        events = console.MANY // 20 if args.short else console.MANY
        for one in console.measure(server, events=events, samples=5 if args.short else 11):
            found.append(one)
            print(
                f"  {one.kind} {one.ratio:.2f}: {one.small_ms:.1f} ms few,"
                f" {one.large_ms:.1f} ms many, {one.address}"
            )
    return [one.told() for one in found], report.console_promises(found)


def _peers(
    running: list[Server], folder: Path, args: argparse.Namespace
) -> tuple[Any, Iterable[Promise]]:
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


_SCENARIOS = {
    "peers": _peers,
    "throughput": _throughput,
    "growth": _growth,
    "fanout": _fanout,
    "doorbell": _doorbell,
    "webhooks": _webhooks,
    "console": _console,
}


def _start(kind: str, folder: Path, closing: contextlib.ExitStack) -> Server:
    """A server with the settings it comes with, durable, and room for the large inbox in memory."""
    options = ["--innodb-buffer-pool-size=2G", "--innodb-redo-log-capacity=1G"]
    if kind == "mariadb":
        options[1] = "--innodb-log-file-size=1G"
    server = servers.start(kind, folder / kind, options=options)
    closing.callback(server.stop)
    return server


def _machine() -> dict[str, Any]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "processors": os.cpu_count(),
        "memory_gib": round(memory / 2**30, 1),
        "python": platform.python_version(),
        "kernel": platform.release(),
        "began": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def _write(out: Path | None, results: dict[str, Any]) -> Path:
    if out is None:
        RESULTS.mkdir(exist_ok=True)
        name = results["machine"]["began"].replace(":", "")
        out = RESULTS / f"{name}.json"
    out.write_text(json.dumps(results, indent=1, default=str) + "\n")
    return out


if __name__ == "__main__":
    main()
