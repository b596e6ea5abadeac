"""Throughput: raw PyMySQL, a bare Flask and the product, interleaved on one server."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from sqlalchemy.engine import make_url

from bench import raw
from bench.bare_flask import BareFlask
from bench.cell import Cell, run
from bench.load import Load
from bench.product import Product
from bench.sides import Client, HTTPClient, RawClient, Tokens
from restante.storage.ids import new_id
from tests.support.servers import Server

CLIENTS = 16
SIDES = ("raw", "flask", "restante")
LEAST = {"publish": {1: 0.45, 10: 0.55, 100: 0.8}, "consume": {1: 0.45, 10: 0.7, 100: 1.0}}
"""The ratio to raw that the product has to keep, by batch."""

Opener = Callable[[int], Client]


@dataclass(frozen=True)
class Row:
    """One cell as it was measured."""

    kind: str
    side: str
    batch: int
    round: int
    cell: Cell
    load: dict[str, float]

    def told(self) -> dict[str, Any]:
        """For the result file."""
        return {
            **asdict(self),
            "publish": self.cell.publish.rate,
            "consume": self.cell.consume.rate,
        }


class Stage:
    """The three sides on one database server."""

    def __init__(self, server: Server, folder: Path, sides: Sequence[str]) -> None:
        self.server, self._serial = server, 0
        self._closing = contextlib.ExitStack()
        url = server.create_database("bench_raw")
        self._raw = make_url(url)
        raw.make_tables(url)
        self.product: Product | None = None
        self.flask: BareFlask | None = None
        if "flask" in sides:
            where = f"{self._raw.host}:{self._raw.port}/{self._raw.database}"
            settings = {"BENCH_DATABASE": where}
            self.flask = BareFlask("bench.flask_floor:app", folder / "flask.log", settings=settings)
            self._closing.callback(self.flask.stop)
        if "restante" in sides:
            self.product = Product(server.create_database("bench_restante"), folder)
            self._closing.callback(self.product.stop)

    def close(self) -> None:
        self._closing.close()

    def opener(self, side: str, clients: int) -> Opener:
        """How a client of a new cell opens: each has an inbox of its own, and it is empty."""
        if side == "restante":
            assert self.product
            port, agents = self.product.port, self.product.agents(clients)
            return lambda n: HTTPClient("127.0.0.1", port, agents[n].agent_id, agents[n].tokens)
        recipients = [new_id() for _ in range(clients)]
        with contextlib.closing(self._connect()) as connection:
            raw.add_inboxes(connection, recipients)
        if side == "raw":
            host, port, name = self._raw.host, self._raw.port, self._raw.database
            return lambda n: RawClient(host, port, name, recipients[n])
        assert self.flask
        port = self.flask.port
        return lambda n: HTTPClient("127.0.0.1", port, f"agt_{recipients[n].hex()}", Tokens())

    def processes(self, side: str) -> list[int]:
        """The servers of a side: the database's, and the web workers."""
        workers: list[int] = []
        if side == "flask" and self.flask:
            workers = children(self.flask.process.pid)
        if side == "restante" and self.product:
            workers = self.product.served.worker_pids()
        return [self.server.pid, *workers]

    def _connect(self) -> raw.Connection:
        return raw.connect(self._raw.host, self._raw.port, self._raw.database)


def children(pid: int) -> list[int]:
    """The processes that one has started."""
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def measure(
    stages: dict[str, Stage],
    *,
    batches: Sequence[int],
    rounds: int,
    seconds: float,
    sides: Sequence[str] = SIDES,
    clients: int = CLIENTS,
    calm: Callable[[], None] = lambda: None,
) -> Iterator[Row]:
    """Cell by cell through servers, batches and sides; the direction turns each round."""
    for number in range(rounds):
        for kind, stage in stages.items():
            for batch in batches:
                for side in sides if number % 2 == 0 else tuple(reversed(sides)):
                    calm()
                    load = Load()
                    cell = run(
                        stage.opener(side, clients),
                        clients=clients,
                        batch=batch,
                        seconds=seconds,
                        servers=stage.processes(side),
                    )
                    yield Row(kind, side, batch, number, cell, load.told())


def medians(rows: Sequence[Row], figure: str = "rate") -> dict[tuple[str, str, int, str], float]:
    """{(server, side, batch, half): the figure of its cells (rate, processor_us)}."""
    rates: dict[tuple[str, str, int, str], list[float]] = {}
    for row in rows:
        for half in ("publish", "consume"):
            key = (row.kind, row.side, row.batch, half)
            rates.setdefault(key, []).append(getattr(getattr(row.cell, half), figure))
    return {key: median(values) for key, values in rates.items()}
