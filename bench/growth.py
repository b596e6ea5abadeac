"""Growth: claim and read in an inbox of months, beside the same in one that is almost empty.

And the rows that every verb touches there: the guards that the suite tries in a tenth of it.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from sqlalchemy import text

from bench.engine import SLUG, Engine
from bench.payloads import payloads
from restante.inbox.browse import ReadRequest, read_page
from restante.storage.ids import new_id
from tests.architecture.guards import GUARDS
from tests.architecture.large_inbox import Amounts, Large, fill
from tests.architecture.plans import cost_of, faults
from tests.factories import Mailbox, Tenant
from tests.support.servers import Server

LIMIT = 10
MOST = 1.3
"""The full inbox may take so many times the empty one's median."""
STOCK = 20
"""Claims' worth of events that the almost empty inbox has."""


@dataclass(frozen=True)
class Growth:
    """Medians in milliseconds."""

    kind: str
    verb: str
    empty_ms: float
    full_ms: float

    @property
    def ratio(self) -> float:
        """How many times as long in the full inbox."""
        return self.full_ms / self.empty_ms

    def told(self) -> dict[str, Any]:
        """For the result file."""
        return {**asdict(self), "ratio": self.ratio}


@dataclass(frozen=True)
class Touched:
    """What one of a verb's guards cost in the full inbox: rows touched, and plans that read too much."""

    kind: str
    verb: str
    case: str
    rows: int
    bound: int
    faults: list[str]

    def told(self) -> dict[str, Any]:
        """For the result file."""
        return asdict(self)


class Inbox:
    """An inbox in a database of its own."""

    def __init__(self, url: str, amounts: Amounts | None) -> None:
        self.engine = Engine(url)
        self._bodies = payloads(9)
        self.stock(1)
        self.amounts = amounts
        if amounts is not None:
            first = self.engine.claim(LIMIT)
            agent, project = self.engine.agent, self.engine.project
            with self.engine.database.engine.connect() as connection:
                fill(connection, agent.id, amounts, project_id=project.id, elsewhere_id=new_id())
            self.engine.ack(first)

    def stock(self, batches: int) -> None:
        """Publish so many claims' worth of events."""
        for _ in range(batches):
            self.engine.publish([next(self._bodies) for _ in range(LIMIT)])

    def claim(self) -> float:
        """Seconds of a claim; what it took is acked afterwards."""
        began = time.perf_counter()
        claimed = self.engine.claim(LIMIT)
        took = time.perf_counter() - began
        if len(claimed) != LIMIT:
            raise RuntimeError(f"a claim got {len(claimed)} of {LIMIT} events")
        self.engine.ack(claimed)
        return took

    def read(self, where: float) -> float:
        """Seconds of reading a page that begins so far into the inbox (0 to 1)."""
        agent, project = self.engine.agent, self.engine.project
        head = self._head()
        request = ReadRequest(
            projects=(project,), limit=LIMIT, after_cursor=int(where * max(0, head - 2 * LIMIT))
        )
        began = time.perf_counter()
        page = self.engine.database.run(lambda session: read_page(session, agent, request))
        took = time.perf_counter() - began
        if len(page.events) != LIMIT:
            raise RuntimeError(f"a page has {len(page.events)} of {LIMIT} events")
        return took

    def _head(self) -> int:
        with self.engine.database.engine.connect() as connection:
            return int(connection.execute(text("SELECT MAX(head) FROM inbox")).scalar_one())


def measure(
    server: Server, amounts: Amounts, *, samples: int
) -> tuple[list[Growth], list[Touched]]:
    """Claims and reads, one inbox and the other in turn; then what every verb touches in the full one."""
    empty = Inbox(server.create_database("bench_empty"), None)
    full = Inbox(server.create_database("bench_full"), amounts)
    try:
        empty.stock(STOCK)
        for inbox in (empty, full):
            for _ in range(5):
                inbox.claim()
                inbox.stock(1)
        found = [
            _compare(server.kind, "claim", samples, empty, full, _claim),
            _compare(server.kind, "read", samples, empty, full, _read),
        ]
        return found, list(_guarded(server.kind, full, amounts))
    finally:
        for inbox in (empty, full):
            inbox.engine.database.engine.dispose()


def _guarded(kind: str, full: Inbox, amounts: Amounts) -> Iterator[Touched]:
    """The suite's own guards, in all of the inbox."""
    engine = full.engine
    database, agent = engine.database, engine.agent
    tenant = Tenant(database, agent.tenant_id, {SLUG: engine.project}, engine.producer)
    large = Large(Mailbox(database, tenant, agent), amounts, SLUG)
    for verb, guards in GUARDS.items():
        for guard in guards(large):
            cost = cost_of(database, guard.work)
            wrong = faults(database.engine, cost, sorts=guard.sorts)
            told = [f"{step.access} of {step.table}: {step.statement}" for step in wrong]
            yield Touched(kind, verb, guard.case, cost.rows, guard.rows, told)


def _claim(inbox: Inbox) -> float:
    took = inbox.claim()
    inbox.stock(1)
    return took


def _read(inbox: Inbox) -> float:
    return inbox.read(random.random() * 0.8)


def _compare(
    kind: str,
    verb: str,
    samples: int,
    empty: Inbox,
    full: Inbox,
    once: Callable[[Inbox], float],
) -> Growth:
    took: tuple[list[float], list[float]] = ([], [])
    for _ in range(samples):
        for inbox, laps in zip((empty, full), took, strict=True):
            laps.append(once(inbox))
    return Growth(kind, verb, 1000 * median(took[0]), 1000 * median(took[1]))
