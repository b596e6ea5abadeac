"""Growth: the verbs in inboxes of months and of a busy tenant, beside the same in one that is almost empty.

And the rows that every verb touches in the largest: the guards that the suite tries in a tenth of it.
"""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from sqlalchemy import text
from sqlalchemy.engine import make_url

from bench import raw
from bench.crowd import crowd
from bench.engine import SLUG, Engine
from bench.hurry import hurried
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
"""Each may take so many times the almost empty inbox's median."""
VERBS = ("publish", "claim", "settle", "read")
FEWEST = 1_000
"""Completed events of the almost empty inbox, with nothing around them."""
AGENTS = (100, 10_000)
PASSED = 20_000
"""Events that go through an inbox under the snapshot before it is measured."""
ROW_BYTES = 1_200
FIRST = 2
"""The priority of what is published: it is claimed before what lies there, whose keys would cost more."""
AROUND = 600_000
"""Events around the completed ones of a full inbox."""


@dataclass(frozen=True)
class Growth:
    """Medians in milliseconds. `case`: what there is besides what `few_ms` was measured in."""

    kind: str
    verb: str
    case: str
    few_ms: float
    many_ms: float

    @property
    def ratio(self) -> float:
        """How many times as long."""
        return self.many_ms / self.few_ms

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
    """An inbox in a database of its own, with `amounts` in it and so many other agents beside it."""

    def __init__(self, url: str, amounts: Amounts, *, agents: int = 1) -> None:
        self.engine = Engine(url)
        self._bodies = payloads(9)
        self.publish()
        first = self.engine.claim(LIMIT)
        agent, project = self.engine.agent, self.engine.project
        with self.engine.database.engine.connect() as connection:
            fill(connection, agent.id, amounts, project_id=project.id, elsewhere_id=new_id())
            crowd(connection, agent.id, agents - 1)
        self.engine.ack(first)

    def laps(self) -> dict[str, float]:
        """Seconds of each verb, once: what is published is claimed and settled."""
        published = self.publish()
        began = time.perf_counter()
        claimed = self.engine.claim(LIMIT)
        took = time.perf_counter()
        self.engine.ack(claimed)
        settled = time.perf_counter()
        if len(claimed) != LIMIT:
            raise RuntimeError(f"a claim got {len(claimed)} of {LIMIT} events")
        return {
            "publish": published,
            "claim": took - began,
            "settle": settled - took,
            "read": self._read(random.random() * 0.8),
        }

    def publish(self) -> float:
        """A claim's worth of events, the seconds of it."""
        bodies = [next(self._bodies) for _ in range(LIMIT)]
        began = time.perf_counter()
        self.engine.publish(bodies, priority=FIRST)
        return time.perf_counter() - began

    def pass_through(self, count: int) -> None:
        """Have so many events published, claimed and settled."""
        for _ in range(0, count, 100):
            self.engine.publish([next(self._bodies) for _ in range(100)], priority=FIRST)
            self.engine.ack(self.engine.claim(100))

    def _read(self, where: float) -> float:
        """Seconds of reading a page that begins so far into the inbox (0 to 1)."""
        agent, project = self.engine.agent, self.engine.project
        request = ReadRequest(
            projects=(project,),
            limit=LIMIT,
            after_cursor=int(where * max(0, self._head() - 2 * LIMIT)),
        )
        began = time.perf_counter()
        self.engine.database.run(lambda session: read_page(session, agent, request))
        return time.perf_counter() - began

    def _head(self) -> int:
        asked = text("SELECT head FROM inbox WHERE recipient_id = :r")
        with self.engine.database.engine.connect() as connection:
            row = connection.execute(asked, {"r": self.engine.agent.id})
            return int(row.scalar_one())


def measure(
    server: Server, rows: Sequence[int], *, around: Amounts, samples: int
) -> tuple[list[Growth], list[Touched]]:
    """The verbs in each inbox in turn, then under a snapshot; then what each touches in the largest.

    `rows`: how many completed events the full inboxes have; `around`: what else is in them.
    """
    _require_room(server.folder, rows)
    bare = Amounts(FEWEST, *[0] * 5)
    with ExitStack() as closing:

        def opened(name: str, amounts: Amounts, agents: int = 1) -> Inbox:
            with hurried(server):
                inbox = Inbox(server.create_database(f"bench_{name}"), amounts, agents=agents)
            closing.callback(inbox.engine.database.engine.dispose)
            return inbox

        few = opened("few", bare)
        full = {
            f"{count:,} events": (opened(f"full_{count}", replace(around, completed=count)), count)
            for count in sorted(rows)
        }
        cases = {case: inbox for case, (inbox, _) in full.items()}
        for agents in AGENTS:
            cases[f"{agents:,} agents"] = opened(f"agents_{agents}", bare, agents)
        found = _compare(server.kind, few, cases, samples)
        passed = opened("passed", bare)
        with _snapshot(passed):
            passed.pass_through(PASSED)
            case = f"a snapshot held since {PASSED:,} events"
            found += _compare(server.kind, few, {case: passed}, samples)
        largest, count = list(full.values())[-1]
        return found, list(_guarded(server.kind, largest, replace(around, completed=count)))


def _compare(kind: str, few: Inbox, cases: dict[str, Inbox], samples: int) -> list[Growth]:
    """All in turn; the first few laps warm up."""
    laps: dict[str, list[dict[str, float]]] = {case: [] for case in ("", *cases)}
    for number in range(-5, samples):
        for case, inbox in {"": few, **cases}.items():
            lap = inbox.laps()
            laps[case] += [lap] if number >= 0 else []
    took = {
        (case, verb): 1000 * median(lap[verb] for lap in some)
        for case, some in laps.items()
        for verb in VERBS
    }
    return [
        Growth(kind, verb, case, took["", verb], took[case, verb])
        for case in cases
        for verb in VERBS
    ]


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


@contextmanager
def _snapshot(inbox: Inbox) -> Iterator[None]:
    """A reader elsewhere holds what the server was, as a dump does: nothing is purged meanwhile."""
    url = make_url(inbox.engine.database.engine.url)
    connection = raw.connect(url.host, url.port, url.database)
    try:
        with connection.cursor() as cursor:
            cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
            cursor.execute("SELECT COUNT(*) FROM agent_inbox")
            cursor.fetchall()
        yield
    finally:
        connection.close()


def _require_room(folder: Path, rows: Sequence[int]) -> None:
    """Refuse where the disk has less than the rows take, twice over for logs."""
    needed = 2 * ROW_BYTES * sum(count + AROUND for count in rows)
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise RuntimeError(f"{needed / 1e9:.0f} GB are needed, and {free / 1e9:.0f} GB are free")
