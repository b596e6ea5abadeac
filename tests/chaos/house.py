"""What a run stands on: a database, web workers, a maintainer and clients, with wires between.

    clients ── street ──▶ restante serve ── cellar ──▶ database
                          restante maintain ─────┘

Street and cellar are proxies. Only processes that were started here are signalled.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import NullPool, create_engine, text

from restante.storage.engine import make_engine
from restante.storage.transaction import Database
from tests.acceptance.roster import Member, Roster, enrol_in
from tests.chaos.books import Books, read_books
from tests.chaos.history import Call, calls, read_lines
from tests.chaos.producer import PROJECT
from tests.chaos.proxy import Proxy
from tests.support.processes import Process
from tests.support.servers import Server, start
from tests.support.serving import RESTANTE, ROOT, RestanteCommand, Served, environment

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
    url: str
    served: Served
    street: Proxy
    server: Server | None
    cellar: Proxy | None
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
            "port": self.street.port,
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
        engine = create_engine(self.url, poolclass=NullPool)
        with engine.connect() as connection:
            return int(connection.execute(text(statement)).scalar_one())

    def calls(self) -> list[Call]:
        """What all clients did."""
        return calls(
            line for file in sorted(self.folder.glob("*-*.jsonl")) for line in read_lines(file)
        )

    def books(self) -> Books:
        """What the database has."""
        engine = make_engine(self.url)
        try:
            with engine.connect() as connection:
                return read_books(connection)
        finally:
            engine.dispose()

    def end(self) -> None:
        """End everything that writes; the database stays."""
        self.snapshot.close()
        for hand in self.hands.values():
            hand.kill()
        if self.backend != "sqlite":
            self.maintainer.kill()
        self.served.kill()


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
) -> Iterator[House]:
    """Start all of it; end all that was started. Raises Unavailable where the database cannot be had.

    `server`: one that runs already and stays; faults must not end it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    settings = {"RESTANTE_INSTANCE": str(folder / "instance"), **SETTINGS}
    if broken:
        settings |= {"CHAOS_BROKEN": broken, "PYTHONPATH": str(BROKEN)}
    with ExitStack() as stack:
        cellar = None
        url = shown = f"sqlite:///{folder / 'restante.db'}"
        if backend != "sqlite":
            if server is None:
                server = start(backend, folder / backend)
                stack.callback(server.kill)
            url = server.create_database(database)
            cellar = Proxy(server.port)
            stack.callback(cellar.close)
            shown = _user(server, cellar, database)
        RestanteCommand(url, settings=settings).upgrade()
        engine = make_engine(url)
        roster = enrol_in(Database(engine), PROJECT, crew.agents)
        engine.dispose()
        workers = 1 if server is None else 2
        served = Served(shown, log=folder / "serve.log", workers=workers, settings=settings)
        stack.callback(served.kill)
        served.wait_until_ready()
        street = Proxy(served.port)
        stack.callback(street.close)
        env = environment(shown, served.settings)
        one = House(backend, folder, seed, crew, url, served, street, server, cellar, env, roster)
        if server is not None:
            one.start_maintainer()
        stack.callback(one.end)
        one.begin()
        yield one


def _user(server: Server, cellar: Proxy, database: str) -> str:
    """A user whom `read_only` binds, as it does not bind root → its URL over the cellar."""
    for host in ("localhost", "%"):
        server.execute(f"CREATE USER IF NOT EXISTS 'mail'@'{host}'")
        server.execute(f"GRANT ALL ON `{database}`.* TO 'mail'@'{host}'")
    return f"mysql+pymysql://mail@127.0.0.1:{cellar.port}/{database}"
