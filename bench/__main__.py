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
from pathlib import Path
from typing import Any

from bench import console, furnishing, history
from bench.peers.opened import OTHERS
from bench.peers.own import settings
from bench.report import Promise
from bench.scenarios import RUNNERS
from tests.support import servers
from tests.support.servers import Server

# besides these there is peers, whose servers and libraries the project itself does not need
SCENARIOS = (
    *("throughput", "requests", "growth", "fanout", "doorbell", "polls", "herd", "webhooks"),
    "console",
)
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
            told, kept = RUNNERS[scenario](running, folder, args)
            results[scenario] = told
            promises += kept
            _write(args.out, results)
    print(f"\npromises ({time.monotonic() - began:.0f} s in all)")
    for promise in promises:
        print(promise.line())
    results["promises"] = [vars(p) | {"kept": p.kept} for p in promises]
    print(f"\n{_write(args.out, results)}")
    if args.keep_history:
        print(history.keep(args.keep_history, results))
    if args.strict and not all(promise.kept for promise in promises):
        sys.exit(1)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument(
        "--short", action="store_true", help="a quarter of an hour: fewer, smaller, coarser"
    )
    parser.add_argument("--scenarios", default=",".join(SCENARIOS))
    parser.add_argument("--kinds", default="mariadb,mysql", help="database servers")
    parser.add_argument("--batches", default="1,10,100")
    parser.add_argument("--peers", default=",".join(OTHERS), help="of the scenario peers")
    parser.add_argument(
        "--rows", default="100000,1000000", help="of growth: completed events in an inbox"
    )
    parser.add_argument("--console-events", type=int, default=console.MANY)
    parser.add_argument("--console-agents", type=int, default=furnishing.AGENTS)
    parser.add_argument("--rounds", type=int, help="of throughput (3; short: 1)")
    parser.add_argument("--seconds", type=float, help="of each slice of throughput (1.5; short: 1)")
    parser.add_argument(
        "--quiet-seconds", type=float, default=2.0, help="wait so long for a calm machine"
    )
    parser.add_argument("--folder", help="where the servers' data lies (not in memory)")
    parser.add_argument(
        "--out", type=Path, help="the result file (default: bench/results/DATE.json)"
    )
    parser.add_argument(
        "--keep-history", metavar="VERSION", help="write bench/history/VERSION.json as well"
    )
    parser.add_argument("--strict", action="store_true", help="exit 1 where a promise is broken")
    args = parser.parse_args()
    args.rounds = args.rounds or (1 if args.short else 3)
    args.seconds = args.seconds or (1.0 if args.short else 1.5)
    return args


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
