"""What is done to a house, one fault at a time: each is held for a moment and then made good."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

import pymysql
from sqlalchemy import Connection, NullPool, create_engine, text
from sqlalchemy.exc import DBAPIError, OperationalError

from tests.chaos.disk import filled
from tests.chaos.group_faults import IN_A_GROUP, Fault
from tests.chaos.house import House
from tests.chaos.proxy import Proxy, Trouble
from tests.support.servers import Server
from tests.support.serving import Served

SHORTEST_SECONDS, LONGEST_SECONDS = 0.2, 2.5
FEW_CONNECTIONS = 12
USUAL_CONNECTIONS = 400
SOMETHING_WRITTEN = "CREATE DATABASE IF NOT EXISTS written"


def _web_worker(node: Served, draw: random.Random) -> int | None:
    pids = node.worker_pids()
    return draw.choice(pids) if pids else None


def web_worker_killed(house: House, draw: random.Random) -> Iterator[None]:
    """SIGKILL; its master starts another."""
    node = draw.choice(house.nodes)
    if (pid := _web_worker(node, draw)) is not None:
        with suppress(ProcessLookupError, ValueError):
            node.kill_worker(pid)
    yield


def web_worker_stopped(house: House, draw: random.Random) -> Iterator[None]:
    """SIGSTOP, as on a machine that swaps; its leases and locks go on without it."""
    pid = _web_worker(draw.choice(house.nodes), draw)
    if pid is None:
        yield
        return
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP)
    yield
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)


def web_restarted(house: House, draw: random.Random) -> Iterator[None]:
    """SIGTERM to all web workers of a node: they drain; then they are started again."""
    node = draw.choice(house.nodes)
    node.stop()
    yield
    node.restart()


def web_killed(house: House, draw: random.Random) -> Iterator[None]:
    """SIGKILL to all web workers of a node and their master at once."""
    node = draw.choice(house.nodes)
    node.kill()
    yield
    node.restart()


def maintainer_killed(house: House, draw: random.Random) -> Iterator[None]:
    """SIGKILL to the maintenance: scavenger, retention, relay."""
    house.maintainer.kill()
    yield
    house.start_maintainer()


def maintainer_stopped(house: House, draw: random.Random) -> Iterator[None]:
    """SIGSTOP to it, transactions and all."""
    house.maintainer.signal(signal.SIGSTOP)
    yield
    house.maintainer.signal(signal.SIGCONT)


def client_killed(house: House, draw: random.Random) -> Iterator[None]:
    """SIGKILL to an agent or a producer, and another in its place."""
    name = draw.choice(sorted(house.hands))
    house.hands[name].kill()
    yield
    house.start_hand(name)


def client_ended(house: House, draw: random.Random) -> Iterator[None]:
    """SIGTERM to one."""
    name = draw.choice(sorted(house.hands))
    house.hands[name].stop()
    yield
    house.start_hand(name)


def client_stopped(house: House, draw: random.Random) -> Iterator[None]:
    """SIGSTOP to one: an agent wakes up after its leases are over, and does not know."""
    hand = house.hands[draw.choice(sorted(house.hands))]
    hand.signal(signal.SIGSTOP)
    yield
    hand.signal(signal.SIGCONT)


def _server(house: House) -> Server:
    assert house.cellar.server is not None
    return house.cellar.server


def database_killed(house: House, draw: random.Random) -> Iterator[None]:
    """SIGKILL to the database, and its recovery."""
    server = _server(house)
    server.kill()
    yield
    server.launch()


def database_restarted(house: House, draw: random.Random) -> Iterator[None]:
    """It is ended in order and started again."""
    server = _server(house)
    server.stop()
    yield
    server.launch()


def disk_full(house: House, draw: random.Random) -> Iterator[None]:
    """The database has not a byte left to write to. MySQL waits for one, and looks once a minute.

    It may end itself then (`binlog_error_action`), and is started again.
    """
    server = _server(house)
    with filled(server.folder):
        yield
    try:
        server.execute(SOMETHING_WRITTEN)
    except pymysql.OperationalError:
        server.kill()
        server.launch()
        server.execute(SOMETHING_WRITTEN)


def database_read_only(house: House, draw: random.Random) -> Iterator[None]:
    """It takes no writes, as after a failover."""
    server = _server(house)
    server.execute("SET GLOBAL read_only = 1")
    yield
    server.execute("SET GLOBAL read_only = 0")


def connections_used_up(house: House, draw: random.Random) -> Iterator[None]:
    """All connections are broken, and others take what the database still accepts."""
    server = _server(house)
    with ExitStack() as stack:
        cursor = stack.enter_context(server.connect()).cursor()
        cursor.execute(f"SET GLOBAL max_connections = {FEW_CONNECTIONS}")
        cursor.execute("SELECT id FROM information_schema.processlist WHERE user = 'mail'")
        for (pid,) in cursor.fetchall():
            with suppress(pymysql.Error):
                cursor.execute(f"KILL {int(pid)}")
        with suppress(pymysql.Error):
            for _ in range(FEW_CONNECTIONS - 1):
                stack.enter_context(server.connect())
        yield
        cursor.execute(f"SET GLOBAL max_connections = {USUAL_CONNECTIONS}")


def locks_held(house: House, draw: random.Random) -> Iterator[None]:
    """Somebody holds the inbox rows, or rows of events, and does not let go."""
    with _outside(house) as connection:
        if house.backend == "sqlite":
            connection.exec_driver_sql("PRAGMA busy_timeout = 5000")
            with suppress(OperationalError):
                connection.exec_driver_sql("BEGIN IMMEDIATE")
        else:
            where = draw.choice(("inbox", "agent_inbox WHERE gate IN (1, 4) LIMIT 50"))
            with suppress(
                OperationalError
            ):  # it may be the victim of a deadlock, which is a fault too
                connection.execute(text(f"SELECT 1 FROM {where} FOR UPDATE"))
        yield


def snapshot_held(house: House, draw: random.Random) -> Iterator[None]:
    """A reader keeps an old snapshot: nothing can be purged under it. Held until the next one."""
    house.snapshot.close()
    connection = house.snapshot.enter_context(_outside(house))
    if house.backend == "sqlite":
        connection.exec_driver_sql("BEGIN")
    else:
        connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        connection.exec_driver_sql("START TRANSACTION WITH CONSISTENT SNAPSHOT")
    connection.execute(text("SELECT COUNT(*) FROM agent_inbox"))
    yield


@contextmanager
def _outside(house: House) -> Iterator[Connection]:
    """A connection past everything that is tested; what it did is rolled back."""
    level = "AUTOCOMMIT" if house.backend == "sqlite" else "READ COMMITTED"
    engine = create_engine(house.cellar.url, poolclass=NullPool, isolation_level=level)
    connection = engine.connect()
    try:
        yield connection
    finally:
        with suppress(DBAPIError):  # its server may have been killed
            connection.close()


Wires = Callable[[House, random.Random], list[Proxy]]


def _cut(wires: Wires) -> Fault:
    def fault(house: House, draw: random.Random) -> Iterator[None]:
        for wire in wires(house, draw):
            wire.cut()
        yield

    return fault


def _wire(wires: Wires, trouble: Trouble) -> Fault:
    def fault(house: House, draw: random.Random) -> Iterator[None]:
        struck = wires(house, draw)
        for wire in struck:
            wire.trouble(trouble)
        yield
        for wire in struck:
            wire.heal()

    return fault


def _street(house: House, draw: random.Random) -> list[Proxy]:
    return [draw.choice(house.streets)]


def _below(house: House, _draw: random.Random) -> list[Proxy]:
    return house.cellar.wires


OF_WIRES = [trouble for trouble in Trouble if trouble is not Trouble.APART]
"""Apart are two members of a group."""
ANYWHERE: dict[str, Fault] = {
    "web worker killed": web_worker_killed,
    "web worker stopped": web_worker_stopped,
    "web restarted": web_restarted,
    "web killed": web_killed,
    "client killed": client_killed,
    "client ended": client_ended,
    "client stopped": client_stopped,
    "locks held": locks_held,
    "snapshot held": snapshot_held,
    "clients cut off": _cut(_street),
    **{f"clients {trouble}": _wire(_street, trouble) for trouble in OF_WIRES},
}
BELOW: dict[str, Fault] = {
    "maintainer killed": maintainer_killed,
    "maintainer stopped": maintainer_stopped,
    "database cut off": _cut(_below),
    **{f"database {trouble}": _wire(_below, trouble) for trouble in OF_WIRES},
}
ON_SERVERS: dict[str, Fault] = {
    "database killed": database_killed,
    "database restarted": database_restarted,
    "database read-only": database_read_only,
    "connections used up": connections_used_up,
}
ON_SMALL_DISKS: dict[str, Fault] = {"disk full": disk_full}
OF_BACKENDS: dict[str, dict[str, Fault]] = {
    "sqlite": ANYWHERE,
    "mariadb": ANYWHERE | BELOW | ON_SERVERS,
    "mysql": ANYWHERE | BELOW | ON_SERVERS,
    "cluster": ANYWHERE | BELOW | IN_A_GROUP,
}


def inflict(house: House, name: str, draw: random.Random, *, pace: float = 1.0) -> None:
    """Begin a fault, hold it for a moment (times `pace`), make it good."""
    steps = iter((OF_BACKENDS[house.backend] | ON_SMALL_DISKS)[name](house, draw))
    next(steps)
    time.sleep(draw.uniform(SHORTEST_SECONDS, LONGEST_SECONDS) * pace)
    for _ in steps:
        raise AssertionError(f"{name} yields more than once")
