"""A run: faults under clients for so many seconds, then quiet, then the checker.

`python -m tests.chaos.run mariadb --seconds 60 --seed 7`; ends by itself, with 1 where a promise was broken.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from tests.acceptance.seeds import drawn_seed, say
from tests.chaos import clocks
from tests.chaos.checker import Violation, violations
from tests.chaos.disk import begin_again_with_mounts
from tests.chaos.faults import OF_BACKENDS, ON_SMALL_DISKS, inflict
from tests.chaos.history import Call
from tests.chaos.house import Crew, House, house
from tests.chaos.service import seconds_without, served_at, told
from tests.support.unavailable import Unavailable
from tests.support.waiting import wait_until

QUIET_SECONDS = 40.0
LONGEST_PAUSE_SECONDS = 1.5
SHOWN = 10
UNSETTLED = (
    "SELECT (SELECT COUNT(*) FROM agent_inbox WHERE gate < 5)"
    " + (SELECT COUNT(*) FROM scheduled_event WHERE gate = 0)"
)


@dataclass(frozen=True, slots=True)
class Struck:
    """A fault, from when to when (nanoseconds, as in the history)."""

    name: str
    began_at: int
    ended_at: int


@dataclass
class Report:
    """What was done and what was found."""

    calls: list[Call]
    faults: list[Struck]
    events: int
    found: list[Violation] = field(default_factory=list)

    def lines(self) -> list[str]:
        """For whoever reads it."""
        outcomes = Counter(call.outcome.value for call in self.calls)
        verbs = Counter(call.verb for call in self.calls)
        return [
            f"calls {len(self.calls)} ({_told(outcomes)}): {_told(verbs)}",
            f"faults {len(self.faults)}: {_told(Counter(one.name for one in self.faults))}",
            *self._outages(),
            f"events {self.events}",
            f"violations {len(self.found)}: {_told(Counter(v.rule for v in self.found))}",
            *(f"  {v.rule}: {v.detail}" for v in self.found[:SHOWN]),
        ]

    def _outages(self) -> Iterator[str]:
        """Of each kind of fault, how long nobody was served."""
        served = served_at(self.calls)
        seconds: dict[str, list[float]] = defaultdict(list)
        for one in self.faults:
            seconds[one.name].append(seconds_without(served, one.began_at, one.ended_at))
        for name, found in sorted(seconds.items()):
            yield f"  seconds without service, {name}: {told(found)}"


def _told(numbers: Counter[str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in sorted(numbers.items())) or "none"


def torment(one: House, names: Iterable[str], *, pace: float = 1.0) -> Report:
    """These faults one after the other; then quiet, and the books. `pace`: of their lengths and pauses."""
    draw = random.Random(one.seed)
    done = []
    for name in names:
        time.sleep(draw.uniform(0, LONGEST_PAUSE_SECONDS) * pace)
        began_at = time.monotonic_ns()
        inflict(one, name, draw, pace=pace)
        done.append(Struck(name, began_at, time.monotonic_ns()))
        _all_at_work(one)
    unsettled = _quieten(one)
    calls, (books, *others) = one.calls(), one.books()
    found = [*violations(calls, books), *unsettled]
    if any(set(other.rows) != set(books.rows) or other.heads != books.heads for other in others):
        found.append(Violation("members_agree", "the members of the group have different events"))
    return Report(calls, done, len(books.rows), found)


def for_seconds(names: Sequence[str], seconds: float, seed: int) -> Iterator[str]:
    """Names for so long, in bags: each kind once before any comes again."""
    end = time.monotonic() + seconds
    for name in _bags(names, seed):
        if time.monotonic() >= end:
            return
        say(f"{end - time.monotonic():5.0f} s left: {name}")
        yield name


def for_times(names: Sequence[str], times: int, seed: int) -> Iterator[str]:
    """So many names, in bags."""
    for number, name in enumerate(islice(_bags(names, seed), times), start=1):
        say(f"{number} of {times}: {name}")
        yield name


def _bags(names: Sequence[str], seed: int) -> Iterator[str]:
    draw = random.Random(f"{seed} bags")
    while True:
        yield from draw.sample(names, len(names))


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


def arguments(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """What the command is told."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.run", description=__doc__)
    parser.add_argument("backend", choices=sorted(OF_BACKENDS))
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--broken", help="a build to be caught: a name of broken/sitecustomize.py")
    parser.add_argument("--fault", action="append", default=[], help="only this one, repeatable")
    parser.add_argument("--times", type=int, help="so many faults, however long that takes")
    parser.add_argument(
        "--server-option",
        action="append",
        default=[],
        help="of the database, --option=--name=value",
    )
    parser.add_argument("--keep", type=Path, help="a folder for logs and history, kept")
    return parser.parse_args(argv)


def special(backend: str, seed: int) -> dict[str, Any]:
    """What a house has besides where this machine gives it; where it does not, it is said.

    Clocks that are hours off; of a server, a disk that can be full, for which this program begins again.
    """
    found: dict[str, Any] = {}
    try:
        if backend in ("mariadb", "mysql"):
            begin_again_with_mounts()
            found["small_disk"] = True
    except Unavailable as error:
        say(f"left out: disk full - {error}")
    try:
        clocks.off_by(0)
        found["hours_off"] = clocks.drawn(seed)
        say(f"hours by which the clocks of hosts are off: {found['hours_off']}")
    except Unavailable as error:
        say(f"left out: clocks that are off - {error}")
    return found


def main(argv: Sequence[str] | None = None) -> None:
    args = arguments(argv)
    seed = drawn_seed() if args.seed is None else args.seed
    more = special(args.backend, seed)
    length = f"{args.times} faults" if args.times else f"{args.seconds:.0f} s"
    say(f"chaos on {args.backend}, seed {seed}, {length}")
    try:
        with tempfile.TemporaryDirectory(prefix="restante-chaos-") as temporary:
            folder = args.keep or Path(temporary)
            with house(
                args.backend,
                folder,
                seed=seed,
                crew=Crew(),
                broken=args.broken,
                options=args.server_option,
                **more,
            ) as one:
                on_disk = ON_SMALL_DISKS if "small_disk" in more else {}
                names = args.fault or [*OF_BACKENDS[args.backend], *on_disk]
                report = torment(
                    one,
                    for_times(names, args.times, seed)
                    if args.times
                    else for_seconds(names, args.seconds, seed),
                )
    except Unavailable as error:
        sys.exit(f"chaos cannot be run here: {error}")
    for line in report.lines():
        say(line)
    sys.exit(1 if report.found else 0)


if __name__ == "__main__":
    main()
