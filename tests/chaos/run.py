"""A run: faults under clients for so many seconds, then quiet, then the checker.

`python -m tests.chaos.run mariadb --seconds 60 --seed 7`; ends by itself, with 1 where a promise was broken.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.acceptance.seeds import new_seed, say
from tests.chaos.checker import Violation, violations
from tests.chaos.faults import faults, inflict
from tests.chaos.history import Call
from tests.chaos.house import Crew, House, house
from tests.support.unavailable import Unavailable
from tests.support.waiting import wait_until

QUIET_SECONDS = 40.0
LONGEST_PAUSE_SECONDS = 1.5
SHOWN = 10
UNSETTLED = (
    "SELECT (SELECT COUNT(*) FROM agent_inbox WHERE gate < 5)"
    " + (SELECT COUNT(*) FROM scheduled_event WHERE gate = 0)"
)


@dataclass
class Report:
    """What was done and what was found."""

    calls: list[Call]
    faults: Counter[str]
    events: int
    found: list[Violation] = field(default_factory=list)

    def lines(self) -> list[str]:
        """For whoever reads it."""
        outcomes = Counter(call.outcome.value for call in self.calls)
        verbs = Counter(call.verb for call in self.calls)
        return [
            f"calls {len(self.calls)} ({_told(outcomes)}): {_told(verbs)}",
            f"faults {self.faults.total()}: {_told(self.faults)}",
            f"events {self.events}",
            f"violations {len(self.found)}: {_told(Counter(v.rule for v in self.found))}",
            *(f"  {v.rule}: {v.detail}" for v in self.found[:SHOWN]),
        ]


def _told(numbers: Counter[str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in sorted(numbers.items())) or "none"


def torment(one: House, names: Iterable[str]) -> Report:
    """These faults one after the other; then quiet, and the books."""
    draw = random.Random(one.seed)
    done: Counter[str] = Counter()
    for name in names:
        time.sleep(draw.uniform(0, LONGEST_PAUSE_SECONDS))
        inflict(one, name, draw)
        done[name] += 1
        _all_at_work(one)
    unsettled = _quieten(one)
    calls, books = one.calls(), one.books()
    found = [*violations(calls, books), *unsettled]
    return Report(calls, done, len(books.rows), found)


def for_seconds(names: Sequence[str], seconds: float, seed: int) -> Iterator[str]:
    """Names for so long, in bags: each kind once before any comes again."""
    draw = random.Random(f"{seed} bags")
    end = time.monotonic() + seconds
    while True:
        for name in draw.sample(names, len(names)):
            if time.monotonic() >= end:
                return
            say(f"{end - time.monotonic():5.0f} s left: {name}")
            yield name


def _all_at_work(one: House) -> None:
    for name, hand in one.hands.items():
        assert hand.is_running(), f"{name} ended by itself:\n{hand.tail()}"


def _quieten(one: House) -> list[Violation]:
    """With nothing in their way, producers end their calls and agents settle all; then all is ended.

    It is a violation if for a while nothing is settled any more and something is left.
    """
    one.stop_file.touch()

    def left() -> int:
        return len(one.running("producer")) + one.number(UNSETTLED)

    found = []
    open_ones = left()
    while open_ones and not found:
        before = open_ones
        with suppress(AssertionError):
            wait_until(lambda: left() == 0, "all is settled", timeout_seconds=QUIET_SECONDS)
        open_ones = left()
        if open_ones >= before:
            detail = f"{open_ones} producers and events, no fewer after {QUIET_SECONDS:.0f} s"
            found.append(Violation("settled_in_the_end", detail))
    one.end()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.run", description=__doc__)
    parser.add_argument("backend", choices=["mariadb", "mysql", "sqlite"])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--broken", help="a build to be caught: a name of broken/sitecustomize.py")
    parser.add_argument("--fault", action="append", default=[], help="only this one, repeatable")
    parser.add_argument("--keep", type=Path, help="a folder for logs and history, kept")
    args = parser.parse_args()
    seed = new_seed() if args.seed is None else args.seed
    say(f"chaos on {args.backend}, seed {seed}, {args.seconds:.0f} s")
    try:
        with tempfile.TemporaryDirectory(prefix="restante-chaos-") as temporary:
            folder = args.keep or Path(temporary)
            with house(args.backend, folder, seed=seed, crew=Crew(), broken=args.broken) as one:
                names = args.fault or list(faults(args.backend))
                report = torment(one, for_seconds(names, args.seconds, seed))
    except Unavailable as error:
        sys.exit(f"chaos cannot be run here: {error}")
    for line in report.lines():
        say(line)
    sys.exit(1 if report.found else 0)


if __name__ == "__main__":
    main()
