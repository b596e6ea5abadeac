"""Where a run's events lie: SQLite's file, a server, or a group; and the wires that lead there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.chaos.proxy import Proxy
from tests.support.group import Group, start_group
from tests.support.servers import Server, start

USER = "mail"
SETTLED_SECONDS = 60.0
MEMBERS = "performance_schema.replication_group_members"


@dataclass
class Cellar:
    """`shown`: the URL that everything tested has, over the wires; `url` leads past them.

    `between`: of a group, for each member the wire over which the others reach it.
    """

    database: str
    shown: str
    wires: list[Proxy] = field(default_factory=list)
    server: Server | None = None
    group: Group | None = None
    between: list[Proxy] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Of whoever takes writes now."""
        if self.group is not None:
            return self.group.primary().url + self.database
        return self.shown if self.server is None else self.server.url + self.database

    @property
    def urls(self) -> list[str]:
        """Of everyone that has it all. A group's members are waited for: they apply what they received."""
        if self.group is None:
            return [self.url]
        self.group.wait_until_alike(SETTLED_SECONDS)
        return [member.url + self.database for member in self.group.members]


@contextmanager
def cellar(
    backend: str,
    folder: Path,
    *,
    database: str,
    server: Server | None = None,
    options: Sequence[str] = (),
) -> Iterator[Cellar]:
    """Start it, with an empty database; end what was started. Raises Unavailable where it cannot be had.

    `server`: one that runs already and stays, and so does the database, which has its tables.
    `options`: the servers' own, `--name=value`.
    """
    with ExitStack() as stack:
        if backend == "sqlite":
            yield Cellar(database, f"sqlite:///{folder / 'restante.db'}")
            return
        group, is_there = None, False
        between: list[Proxy] = []

        def door(port: int) -> int:
            between.append(Proxy(port))
            stack.callback(between[-1].close)
            return between[-1].port

        if backend == "cluster":
            group = start_group(folder / backend, options=options, between=door)
            stack.callback(group.kill)
        elif server is None:
            server = start(backend, folder / backend, options=options)
            stack.callback(server.kill)
        else:
            is_there = True
        first = group.primary() if group else server
        assert first is not None
        if not is_there:
            first.create_database(database)
        _let_in(first, database, is_group=group is not None)
        wires = [Proxy(one.port) for one in (group.members if group else [first])]
        for wire in wires:
            stack.callback(wire.close)
        hosts = ",".join(f"127.0.0.1:{wire.port}" for wire in wires)
        shown = f"mysql+pymysql://{USER}@{hosts}/{database}"
        yield Cellar(database, shown, wires, server, group, between)


def _let_in(server: Server, database: str, *, is_group: bool) -> None:
    """A user whom `read_only` binds, as it does not bind root."""
    for host in ("localhost", "%"):
        server.execute(f"CREATE USER IF NOT EXISTS '{USER}'@'{host}'")
        server.execute(f"GRANT ALL ON `{database}`.* TO '{USER}'@'{host}'")
        if is_group:
            server.execute(f"GRANT SELECT ON {MEMBERS} TO '{USER}'@'{host}'")
