"""A database server and a `restante serve` of one run, both to be killed while work goes on."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import NullPool, create_engine, text

from tests.support.servers import Server, start
from tests.support.serving import RestanteCommand, Served

DATABASE = "restante"


@dataclass
class Arena:
    """What runs, and how it is struck. Only processes that were started here are signalled."""

    backend: str
    folder: Path
    url: str
    served: Served
    server: Server | None
    randomly: random.Random
    strikes: list[str] = field(default_factory=list)

    def kill_web_worker(self) -> str:
        """SIGKILL to one of the web workers; gunicorn starts another."""
        pids = self.served.worker_pids()
        if not pids:
            return "web worker: none was up"
        pid = self.randomly.choice(pids)
        self.served.kill_worker(pid)
        return f"web worker {pid}"

    def kill_database(self) -> str:
        """SIGKILL to the database, then its restart; SQLite dies with the process that serves it."""
        if self.server is None:
            self.served.restart()
            return "restante serve, and SQLite with it"
        pid = self.server.pid
        self.server.kill()
        self.server.launch()
        return f"{self.backend} {pid}"

    def rows(self, statement: str, **values: Any) -> list[Any]:
        """What the database says, asked past the server that is tested."""
        engine = create_engine(self.url, poolclass=NullPool)
        with engine.connect() as connection:
            return list(connection.execute(text(statement), values))

    def number(self, statement: str, **values: Any) -> int:
        """The one number that a statement gives."""
        return int(self.rows(statement, **values)[0][0])


@contextmanager
def arena(
    backend: str,
    folder: Path,
    *,
    seed: int,
    workers: int = 2,
    settings: Mapping[str, str] | None = None,
) -> Iterator[Arena]:
    """Start both, with tables; end both. Raises Unavailable where the database cannot be had."""
    folder.mkdir(parents=True, exist_ok=True)
    server = None if backend == "sqlite" else start(backend, folder / backend)
    served = None
    try:
        url = server.create_database(DATABASE) if server else f"sqlite:///{folder / 'restante.db'}"
        wanted = {"RESTANTE_INSTANCE": str(folder / "instance"), **(settings or {})}
        RestanteCommand(url, settings=wanted).upgrade()
        processes = 1 if server is None else workers
        served = Served(url, log=folder / "serve.log", workers=processes, settings=wanted)
        served.wait_until_ready()
        yield Arena(backend, folder, url, served, server, random.Random(seed))
    finally:
        if served is not None:
            served.process.kill_group()
        if server is not None:
            server.kill()
