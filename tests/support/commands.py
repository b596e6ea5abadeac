"""Database servers by hand: `python -m tests.support.servers start|stop|kill KIND`."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from tests.support import servers
from tests.support.debian import cache
from tests.support.unavailable import Unavailable


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.support.servers", description=__doc__)
    parser.add_argument("verb", choices=["start", "stop", "kill"])
    parser.add_argument("kind", choices=sorted(servers.KINDS))
    parser.add_argument(
        "--folder", type=Path, help="where its data lies (default: by kind, in the cache)"
    )
    parser.add_argument("--port", type=int, help="default: a free one")
    parser.add_argument("--relaxed", action="store_true", help="do not flush at every commit")
    parser.add_argument(
        "--database", default="restante", help="made if absent (default: %(default)s)"
    )
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        help="one of the server's own, --option=--name=value",
    )
    args = parser.parse_args()
    folder: Path = args.folder or cache() / f"{args.kind}-by-hand"
    if args.verb != "start":
        number = signal.SIGTERM if args.verb == "stop" else signal.SIGKILL
        if not servers.stop_folder(folder, number):
            sys.exit(f"no {args.kind} of {folder} runs")
        return
    if servers.running_pid(folder):
        sys.exit(f"the {args.kind} of {folder} runs already, as pid {servers.running_pid(folder)}")
    try:
        server = servers.start(
            args.kind,
            folder,
            durable=not args.relaxed,
            options=args.option,
            port=args.port,
            tied=False,
        )
    except Unavailable as error:
        sys.exit(f"{args.kind}: {error}")
    server.execute(f"CREATE DATABASE IF NOT EXISTS `{args.database}` CHARACTER SET utf8mb4")
    print(server.url + args.database)
