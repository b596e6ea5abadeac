"""Calls that throughput.py has not: each beside its floor, by as many connections, in pairs of slices.

The floor of most is the call's own statements, as the application sent them a moment before in an
inbox of its own, by raw PyMySQL. A signed call's is the same call unsigned; a token's and a scrape's
is a bare Flask that does the same work (flask_plain.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from statistics import median
from typing import Any

from bench.bare_flask import BareFlask
from bench.crew import Crew, Slice, asker, caller, carrier
from bench.product import Product
from bench.recorder import Recorder
from tests.http import hot_calls
from tests.http.hot_calls import Desk, Prepare, Request
from tests.support.servers import Server
from tests.support.serving import scratch

CLIENTS = 8


class Floor(StrEnum):
    """What a call is measured beside."""

    STATEMENTS = "raw PyMySQL"
    FLASK = "a bare Flask"
    UNSIGNED = "unsigned"


@dataclass(frozen=True)
class Case:
    """A call, what it is measured beside, and how much of that's rate it has to keep."""

    name: str
    prepare: Prepare
    floor: Floor
    least: float
    unsigned: Prepare | None = None


def scrape(_: Desk) -> Request:
    return Request("GET", "/metrics")


CASES = (
    Case("ack", hot_calls.ack, Floor.STATEMENTS, 0.3),
    Case("turn", hot_calls.turn, Floor.STATEMENTS, 0.2),
    Case("read", hot_calls.read, Floor.STATEMENTS, 0.15),
    Case("state", hot_calls.state, Floor.STATEMENTS, 0.15),
    Case("token", hot_calls.token, Floor.FLASK, 0.2),
    Case("scrape", scrape, Floor.FLASK, 0.7),
    Case("claim, signed", hot_calls.signed_claim, Floor.UNSIGNED, 0.7, hot_calls.claim),
)


@dataclass(frozen=True)
class Asked:
    """A call as it was measured; calls a second and milliseconds are medians. `ratio`: of pairs."""

    kind: str
    case: str
    floor: str
    least: float
    ratio: float
    rate: float
    floor_rate: float
    p50_ms: float
    floor_p50_ms: float

    def told(self) -> dict[str, Any]:
        """For the result file."""
        return asdict(self)


class Stage:
    """The product, the application that is recorded, and the bare Flask, on one database server."""

    def __init__(self, server: Server, folder: Path, closing: ExitStack) -> None:
        product = Product(server.create_database("bench_calls"), folder)
        closing.callback(product.stop)
        enrolled = product.database.run(lambda s: hot_calls.enrol(s, CLIENTS))
        authority = f"127.0.0.1:{product.port}"
        carry = carrier(product.port)
        self.desks = [Desk(carry, who, authority=authority) for who in enrolled]
        self.recorder = Recorder(server, CLIENTS, closing)
        meeting = {"BENCH_DATABASE_URL": product.url, "XDG_RUNTIME_DIR": str(scratch())}
        flask = BareFlask("bench.flask_plain:app", folder / "flask.log", settings=meeting)
        closing.callback(flask.stop)
        floor = self.recorder.floor
        self.product = self._crew(caller(product.port), closing)
        self.flask = self._crew(caller(flask.port), closing)
        self.raw = self._crew(asker(floor.host, floor.port, floor.database), closing)

    def _crew(self, open_one: Callable[[], Any], closing: ExitStack) -> Crew:
        crew = Crew(open_one, CLIENTS)
        closing.callback(crew.close)
        return crew

    def asked(self, prepare: Prepare, calls: int) -> Slice:
        """So many calls of each client at the product."""
        work = [[prepare(desk) for _ in range(calls)] for desk in self.desks]
        return self.product.run(work)

    def floor(self, case: Case, calls: int) -> Slice:
        """So many of the floor's."""
        if case.unsigned is not None:
            return self.asked(case.unsigned, calls)
        if case.floor is Floor.FLASK:
            return self.flask.run([[case.prepare(desk)] * calls for desk in self.desks])
        work: list[Sequence[Any]] = []
        recorder = self.recorder
        for desk in recorder.desks:
            requests = [case.prepare(desk) for _ in range(calls)]
            recorder.catch_up()
            pieces = []
            for request in requests:
                desk.done(request)
                pieces.append(recorder.taken())
            work.append(pieces)
        return self.raw.run(work)


def measure(
    server: Server,
    folder: Path,
    *,
    pairs: int,
    calls: int,
    calm: Callable[[], None] = lambda: None,
) -> Iterator[Asked]:
    """Each case, so many pairs of slices of so many calls a client; the first pair warms up."""
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as closing:
        stage = Stage(server, folder, closing)
        for case in CASES:
            found: list[tuple[Slice, Slice]] = []
            for number in range(pairs + 1):
                calm()
                sides = [
                    lambda case=case: stage.asked(case.prepare, calls),
                    lambda case=case: stage.floor(case, calls),
                ]
                turned = [side() for side in (sides if number % 2 else reversed(sides))]
                ours, floor = turned if number % 2 else reversed(turned)
                found.append((ours, floor))
            yield _asked(server.kind, case, found[1:])


def _asked(kind: str, case: Case, found: Sequence[tuple[Slice, Slice]]) -> Asked:
    return Asked(
        kind,
        case.name,
        case.floor.value,
        case.least,
        ratio=median(ours.rate / floor.rate for ours, floor in found),
        rate=median(ours.rate for ours, _ in found),
        floor_rate=median(floor.rate for _, floor in found),
        p50_ms=1000 * median(lap for ours, _ in found for lap in ours.laps),
        floor_p50_ms=1000 * median(lap for _, floor in found for lap in floor.laps),
    )
