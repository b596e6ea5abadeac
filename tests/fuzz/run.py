"""A long run: everything that is there is shot at over HTTP, round after round, each round drawn anew.

`python -m tests.fuzz.run sqlite --seconds 60 --seed 7`; ends by itself, with 1 where anything was found.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.acceptance.seeds import drawn_seed, say
from tests.fuzz import wires
from tests.fuzz.campaign import Campaign
from tests.fuzz.grounds import Grounds
from tests.fuzz.guns import OverHttp
from tests.http.world import open_world
from tests.support.ports import free_port
from tests.support.servers import start
from tests.support.serving import Alone, RestanteCommand, Served
from tests.support.unavailable import Unavailable

MOST_GROWTH_KIB = 96 * 1024
"""Of all web workers together, after the first round: what Python keeps of 8 MiB that it has read."""
SHOWN = 20
HOST = "127.0.0.1"


@dataclass
class Fuzz:
    """A served installation, what was sent to it and what was found."""

    served: Served
    grounds: Grounds
    seed: int
    statuses: Counter[int] = field(default_factory=Counter)
    found: list[str] = field(default_factory=list)

    def round(self, number: int, most: int) -> None:
        """Every endpoint, then bytes past it."""
        self.grounds.settle()
        gun = OverHttp(HOST, self.served.port)
        campaign = Campaign(self.grounds, gun, self.seed + number, most)
        campaign.api()
        campaign.pages()
        self.statuses += campaign.statuses
        self.found += campaign.found
        self._bytes(random.Random(f"{self.seed} {number}"))

    def _bytes(self, draw: random.Random) -> None:
        line = wires.Line(HOST, self.served.port, self.grounds.home.agent.token)
        for target in ("/api/v1/events", "/oauth/token", "/device"):
            for sent in (*wires.chunked(line, target), *wires.heads(line, target)):
                self._judge(line, sent, wires.REFUSED | {200, 303, 421, 429})
            for sent in wires.smuggled(line, target):
                if wires.SMUGGLED.encode() in self._judge(
                    line, sent, wires.REFUSED | {200, 421, 429}
                ):
                    self.found.append(f"smuggled by {sent[:400]!r}")
        sent, ids = wires.pipelined(line, draw, draw.randrange(2, 60))
        got = self._judge(line, sent, wires.REFUSED | {200})
        places = [got.find(one.encode()) for one in ids]
        if -1 in places or places != sorted(places):
            self.found.append(f"{len(ids)} pipelined requests were answered out of order: {places}")
        for body in wires.big_bodies(8 * wires.MIB):
            head = line.head("/api/v1/events", f"Content-Length: {len(body)}")
            self._judge(line, head + body, wires.REFUSED)

    def _judge(self, line: wires.Line, sent: bytes, allowed: frozenset[int]) -> bytes:
        try:
            got = line.raw(sent)
        except TimeoutError:
            self.found.append(f"no end of the answer to {sent[:300]!r}")
            return b""
        told = wires.statuses(got) or [0]
        self.statuses.update(told)
        if wrong := set(told) - allowed:
            self.found.append(f"{sorted(wrong)} to {sent[:300]!r}\n  {got[:300]!r}")
        return got

    def memory_kib(self) -> int:
        """What the web workers have of their own, in KiB."""
        total = 0
        for pid in self.served.worker_pids():
            text = Path(f"/proc/{pid}/smaps_rollup").read_text()
            total += sum(int(line.split()[1]) for line in text.splitlines() if "Private" in line)
        return total


@contextmanager
def installation(backend: str, folder: Path, seed: int) -> Iterator[Fuzz]:
    """Start all of it, end all that was started. Raises Unavailable where the database cannot be had."""
    with ExitStack() as stack:
        url = f"sqlite:///{folder / 'restante.db'}"
        if backend != "sqlite":
            server = start(backend, folder / backend, durable=False)
            stack.callback(server.kill)
            url = server.create_database("restante")
        settings = {"RESTANTE_INSTANCE": str(folder / "instance")}
        RestanteCommand(url, settings=settings).upgrade()
        port = free_port()
        workers = 1 if backend == "sqlite" else 2
        served = Alone(url, log=folder / "serve.log", workers=workers, port=port, settings=settings)
        stack.callback(served.kill)
        served.wait_until_ready()
        # households are made beside it, on its database and with its name
        world = stack.enter_context(open_world(url, {"public_url": served.url}))
        yield Fuzz(served, Grounds(world), seed)


def stay_slow(fuzz: Fuzz, stack: ExitStack) -> list[wires.socket.socket]:
    """Heads and bodies that never come to their end, for the whole of a run."""
    line = wires.Line(HOST, fuzz.served.port, fuzz.grounds.home.agent.token)
    slow = wires.slow_bodies(line, "/api/v1/events", 50, stack)
    for _ in range(50):
        connection = stack.enter_context(line.dial())
        connection.sendall(b"GET / HTTP/1.1\r\nX-A: ")
        slow.append(connection)
    return slow


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.run", description=__doc__)
    parser.add_argument("backend", choices=["sqlite", "mariadb", "mysql"])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--most", type=int, default=3, help="ways to spoil one place, in a round")
    args = parser.parse_args()
    seed = drawn_seed() if args.seed is None else args.seed
    say(f"fuzz on {args.backend}, seed {seed}, {args.seconds:.0f} s")
    try:
        with (
            tempfile.TemporaryDirectory(prefix="restante-fuzz-") as folder,
            installation(args.backend, Path(folder), seed) as fuzz,
            ExitStack() as stack,
        ):
            sys.exit(_run(fuzz, args.seconds, args.most, stack))
    except Unavailable as error:
        sys.exit(f"the fuzzer cannot be run here: {error}")


def _run(fuzz: Fuzz, seconds: float, most: int, stack: ExitStack) -> int:
    end, number = time.monotonic() + seconds, 0
    pids = fuzz.served.worker_pids()
    stay_slow(fuzz, stack)
    fuzz.round(0, 1)
    before = fuzz.memory_kib()
    while time.monotonic() < end:
        number += 1
        say(f"{end - time.monotonic():5.0f} s left: round {number}")
        fuzz.round(number, most)
    grown = fuzz.memory_kib() - before
    if grown > MOST_GROWTH_KIB:
        fuzz.found.append(f"the web workers have grown by {grown} KiB")
    if fuzz.served.worker_pids() != pids:
        fuzz.found.append(f"a web worker has ended: {fuzz.served.process.tail()}")
    log = fuzz.served.log.read_text(errors="replace")
    if "Traceback" in log:
        fuzz.found.append(f"the log has a traceback: {log[log.index('Traceback') :][:2000]}")
    say(f"answers {fuzz.statuses.total()}: {dict(sorted(fuzz.statuses.items()))}")
    say(f"memory of the web workers: {before} KiB after the first round, {grown:+} KiB since")
    say(f"found {len(fuzz.found)}")
    for one in fuzz.found[:SHOWN]:
        say(f"  {one}")
    return int(bool(fuzz.found))


if __name__ == "__main__":
    main()
