"""What a run stands on: a database, web nodes, a maintainer and clients, with wires between.

    clients ── street ──▶ restante serve ── wire ──▶ database
                          restante maintain ───┘

Streets and wires are proxies: one a node, one a server. Only processes that were started here are signalled.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import NullPool, create_engine, text

from restante.storage.engine import make_engine
from restante.storage.transaction import Database
from tests.acceptance.roster import Member, Roster, enrol_in
from tests.chaos.books import Books, read_books
from tests.chaos.cellar import Cellar, cellar
from tests.chaos.clocks import off_by
from tests.chaos.disk import small
from tests.chaos.history import Call, calls, read_lines
from tests.chaos.producer import PROJECT
from tests.chaos.proxy import Proxy
from tests.support.ports import free_port
from tests.support.processes import Process
from tests.support.servers import Server
from tests.support.serving import (
    RESTANTE,
    ROOT,
    Alone,
    RestanteCommand,
    Served,
    environment,
    scratch,
)

DATABASE = "restante"
RETENTION_SECONDS = 5
SETTINGS = {
    "RESTANTE_RETENTION_DAYS": f"{RETENTION_SECONDS / 86_400:.8f}",
    "RESTANTE_RETENTION_UNSETTLED": "keep",
    "RESTANTE_HEARTBEAT_SECONDS": "5",
}
BROKEN = Path(__file__).parent / "broken"


@dataclass(frozen=True, slots=True)
class Crew:
    """How many clients; a reader for every agent."""

    producers: int = 2
    agents: int = 2
    consumers: int = 4


@dataclass(repr=False)
class House:
    """One run's processes."""

    backend: str
    folder: Path
    seed: int
    crew: Crew
    cellar: Cellar
    nodes: list[Served]
    streets: list[Proxy]
    env: Mapping[str, str]
    roster: Roster
    maintainer: Process = field(init=False)
    hands: dict[str, Process] = field(default_factory=dict)
    starts: int = 0
    snapshot: ExitStack = field(default_factory=ExitStack)

    @property
    def stop_file(self) -> Path:
        """Producers end once it is there."""
        return self.folder / "stop"

    def begin(self) -> None:
        """Start the clients."""
        for number in range(self.crew.producers):
            self.start_hand(f"producer-{number}")
        for number in range(self.crew.consumers):
            self.start_hand(f"consumer-{number}")
        for number in range(self.crew.agents):
            self.start_hand(f"reader-{number}")

    def start_hand(self, name: str) -> None:
        """Start a client, anew where it was killed."""
        role, _, number = name.partition("-")
        agents = self.roster.agents
        member: Member = (
            self.roster.producer if role == "producer" else agents[int(number) % len(agents)]
        )
        told = {
            "role": role,
            "name": name,
            "start": self.starts,
            "seed": f"{self.seed} {self.starts} {name}",
            "port": self.streets[self.starts % len(self.streets)].port,
            "client_id": member.client_id,
            "client_secret": member.client_secret,
            "agents": [agent.client_id for agent in agents],
            "journal": str(self.folder / f"{name}.jsonl"),
            "stop": str(self.stop_file),
        }
        self.starts += 1
        file = self.folder / f"{name}.json"
        file.write_text(json.dumps(told))
        argv = [sys.executable, "-m", "tests.chaos.hand", file]
        self.hands[name] = Process(argv, log=self.folder / f"{name}.log", cwd=ROOT)

    def start_maintainer(self) -> None:
        """A maintenance of its own, besides that of the web workers."""
        argv = [RESTANTE, "maintain"]
        self.maintainer = Process(argv, log=self.folder / "maintain.log", cwd=ROOT, env=self.env)

    def running(self, role: str) -> list[str]:
        """Clients of this role that have not ended."""
        return [n for n, hand in self.hands.items() if n.startswith(role) and hand.is_running()]

    def number(self, statement: str) -> int:
        """The one number that a statement gives, asked past everything that is tested."""
        engine = create_engine(self.cellar.url, poolclass=NullPool)
        with engine.connect() as connection:
            return int(connection.execute(text(statement)).scalar_one())

    def calls(self) -> list[Call]:
        """What all clients did."""
        return calls(
            line for file in sorted(self.folder.glob("*-*.jsonl")) for line in read_lines(file)
        )

    def books(self) -> list[Books]:
        """What the database has; of a group, what each member has."""
        return [_books(url) for url in self.cellar.urls]

    def end(self) -> None:
        """End everything that writes; the database stays."""
        self.snapshot.close()
        for hand in self.hands.values():
            hand.kill()
        if self.backend != "sqlite":
            self.maintainer.kill()
        for node in self.nodes:
            node.kill()


def _books(url: str) -> Books:
    engine = make_engine(url)
    try:
        with engine.connect() as connection:
            return read_books(connection)
    finally:
        engine.dispose()


@contextmanager
def house(
    backend: str,
    folder: Path,
    *,
    seed: int,
    crew: Crew,
    broken: str | None = None,
    server: Server | None = None,
    database: str = DATABASE,
    options: Sequence[str] = (),
    hours_off: Sequence[float] = (),
    small_disk: bool = False,
) -> Iterator[House]:
    """Start all of it; end all that was started. Raises Unavailable where the database cannot be had.

    `server`: one that runs already and stays, with the database and its tables; faults must not end it.
    `options`: of servers started here.
    `hours_off`: of the clocks of the web nodes and, last, of the maintenance's host (clocks.drawn).
    `small_disk`: the database's can be full.
    """
    folder.mkdir(parents=True, exist_ok=True)
    clocks = [off_by(hours) for hours in hours_off] or [{}]
    settings = dict(SETTINGS)
    if broken:
        settings["CHAOS_BROKEN"] = broken
    if broken or hours_off:
        settings["PYTHONPATH"] = os.pathsep.join([str(BROKEN), os.environ.get("PYTHONPATH", "")])
    with ExitStack() as stack:
        if small_disk:
            stack.enter_context(small(folder / backend))
        below = stack.enter_context(
            cellar(backend, folder, database=database, server=server, options=options)
        )
        if server is None:
            RestanteCommand(below.shown, settings=node_settings(settings, folder, 0)).upgrade()
        engine = make_engine(below.shown)
        roster = enrol_in(Database(engine), PROJECT, crew.agents)
        engine.dispose()
        nodes, streets = [], []
        ports = [free_port() for _ in range(2 if backend == "cluster" else 1)]
        settings["RESTANTE_PUBLIC_URL"] = f"http://127.0.0.1:{ports[0]}"
        for number, port in enumerate(ports):
            node = Alone(
                below.shown,
                log=folder / f"serve-{number}.log",
                workers=1 if backend == "sqlite" or len(ports) > 1 else 2,
                port=port,
                settings=node_settings(
                    {**settings, **clocks[number % len(clocks)]}, folder, number
                ),
            )
            stack.callback(node.kill)
            nodes.append(node)
            streets.append(Proxy(port))
            stack.callback(streets[-1].close)
        for node in nodes:
            node.wait_until_ready()
        env = environment(below.shown, {**nodes[0].settings, **clocks[-1]})
        one = House(backend, folder, seed, crew, below, nodes, streets, env, roster)
        if backend != "sqlite":
            one.start_maintainer()
        stack.callback(one.end)
        one.begin()
        yield one


def node_settings(settings: Mapping[str, str], folder: Path, number: int) -> dict[str, str]:
    """Those of one node. Each has folders of its own, as it would have on a host of its own."""
    meeting = scratch() / str(number)
    meeting.mkdir(exist_ok=True)
    instance = folder / f"instance-{number}"
    return {**settings, "RESTANTE_INSTANCE": str(instance), "XDG_RUNTIME_DIR": str(meeting)}
