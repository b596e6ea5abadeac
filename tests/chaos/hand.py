"""A client in a process of its own, to be killed at any time: `python -m tests.chaos.hand FILE`.

FILE is JSON: role, name, start, seed, port, client_id, client_secret, agents, journal, stop (a file
that ends a producer once it is there).
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

from tests.chaos.agent import Consumer, Reader
from tests.chaos.client import Caller
from tests.chaos.history import Journal, calls, read_lines
from tests.chaos.producer import produce


def main() -> None:
    told = json.loads(Path(sys.argv[1]).read_text())
    file = Path(told["journal"])
    caller = Caller(told, Journal(file), random.Random(told["seed"]))
    if told["role"] == "producer":
        done = [call for call in calls(read_lines(file)) if call.status == 201]
        first = max((int(c.asked["key"].rpartition("-")[2]) + 1 for c in done), default=0)
        produce(caller, told["agents"], first, Path(told["stop"]).exists)
    elif told["role"] == "consumer":
        Consumer(caller, told["client_id"]).work()
    else:
        Reader(caller, told["client_id"]).work()


if __name__ == "__main__":
    main()
