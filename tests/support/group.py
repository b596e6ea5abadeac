"""A private MySQL Group Replication group on loopback, single primary: three servers that are one database.

Its members talk over the servers' own ports (communication stack MYSQL), which are bound to loopback.
Needs 650 MB of memory and 300 MB of disk a member.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pymysql

from restante.storage.members import what_it_lacks
from tests.support import mysql
from tests.support.ports import free_port
from tests.support.servers import START_SECONDS, Server, start
from tests.support.waiting import NeverCame, wait_until

SIZE = 3
STATE = (
    "SELECT MEMBER_STATE FROM performance_schema.replication_group_members"
    " WHERE MEMBER_ID = @@server_uuid"
)
# one that was left out counts everybody, and itself, until it hears of it
VIEW = (
    "SELECT VIEW_ID, (SELECT COUNT(*) FROM performance_schema.replication_group_members"
    " WHERE MEMBER_STATE = 'ONLINE')"
    " FROM performance_schema.replication_group_member_stats WHERE MEMBER_ID = @@server_uuid"
)
REJOINING_SECONDS = 60.0
# each member has it before it joins, as members log in to each other with it; not in the binary
# log, which would make this member's history another than the group's
RECOVERY = (
    "SET SQL_LOG_BIN = 0",
    "CREATE USER IF NOT EXISTS recovery@'127.0.0.1' IDENTIFIED BY 'recovery'",
    (
        "GRANT REPLICATION SLAVE, CONNECTION_ADMIN, GROUP_REPLICATION_STREAM ON *.*"
        " TO recovery@'127.0.0.1'"
    ),
    "SET SQL_LOG_BIN = 1",
    # kept, so that it joins by itself when it is started again
    (
        "CHANGE REPLICATION SOURCE TO SOURCE_USER = 'recovery', SOURCE_PASSWORD = 'recovery'"
        " FOR CHANNEL 'group_replication_recovery'"
    ),
)
OF_TESTS = (
    "--group-replication-ip-allowlist=127.0.0.1/32",
    "--group-replication-message-cache-size=134217728",
)
# it does once it has its user of recovery
NOT_YET = "--group-replication-start-on-boot=OFF"
BEGIN = "START GROUP_REPLICATION"


@dataclass
class Group:
    """Its members, of which one, the primary, takes writes."""

    members: list[Server]
    # the kernel ends a server with the thread that started it (processes.die_with_parent)
    _threads: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(SIZE))

    def found_primary(self) -> Server | None:
        """The member that takes writes now; None while there is none."""
        return next(filter(_leads, self.members), None)

    def primary(self) -> Server:
        """The same, waited for."""
        wait_until(self.found_primary, "a primary", timeout_seconds=START_SECONDS)
        found = self.found_primary()
        return found if found is not None else self.primary()

    def has_primary_besides(self, member: Server) -> bool:
        """Tell whether another member takes writes."""
        return any(_leads(other) for other in self.members if other is not member)

    def secondary(self) -> Server:
        """A member that follows."""
        return next(m for m in self.members if m.process.is_running() and m is not self.primary())

    def bring_back(self, member: Server) -> None:
        """Start a member that was ended, and have it in the group again, with all that it missed."""
        if not member.process.is_running():
            self._threads.submit(member.launch).result()
        wait_until(lambda: _joined(member), f"port {member.port} joins", timeout_seconds=120)
        wait_until(
            lambda: _state(member) == "ONLINE",
            f"port {member.port} is online",
            timeout_seconds=300,
        )

    def wait_until_whole(self, *, mending: Server) -> None:
        """Return once all have the same view, of everybody. Who was left out comes back, or is told to."""
        try:
            wait_until(self._is_whole, "the group is whole", timeout_seconds=REJOINING_SECONDS)
        except NeverCame:
            with suppress(pymysql.MySQLError):
                mending.execute("STOP GROUP_REPLICATION")
            self.bring_back(mending)
            wait_until(self._is_whole, "the group is whole", timeout_seconds=REJOINING_SECONDS)

    def _is_whole(self) -> bool:
        try:
            views = {member.execute(VIEW) for member in self.members}
        except pymysql.MySQLError:
            return False
        return len(views) == 1 and [row[1] for rows in views for row in rows] == [len(self.members)]

    def wait_until_alike(self, seconds: float) -> None:
        """Return once every member has every transaction that any of them has."""

        def are_alike() -> bool:
            return len({m.execute("SELECT @@GLOBAL.gtid_executed") for m in self.members}) == 1

        wait_until(are_alike, "all members have the same", timeout_seconds=seconds)

    def kill(self) -> None:
        """SIGKILL to all."""
        for member in self.members:
            member.kill()
        self._threads.shutdown()


def start_group(
    folder: Path,
    *,
    options: Sequence[str] = (),
    durable: bool = True,
    between: Callable[[int], int] = int,
) -> Group:
    """Start a group on empty folders. Raises Unavailable where MySQL cannot be had.

    `between` makes of a member's port the one at which the others reach it.
    """
    mysql.ensure()
    ports = [free_port() for _ in range(SIZE)]
    reached = [between(port) for port in ports]
    name = str(uuid.uuid4())
    group = Group([])
    # one after the other: the first to start makes what all are copied from
    for number, port in enumerate(ports, start=1):
        given = [*member_options(number, reached, name), *options]
        member = group._threads.submit(
            start, "mysql", folder / f"m{number}", durable=durable, port=port, options=given
        ).result()
        group.members.append(member)
        with member.connect() as connection, connection.cursor() as cursor:
            for statement in RECOVERY:
                cursor.execute(statement)
    first = group.members[0]
    first.execute("SET GLOBAL group_replication_bootstrap_group = ON")
    first.execute(BEGIN)
    # left on, the next start would make a second group
    first.execute("SET GLOBAL group_replication_bootstrap_group = OFF")
    for member in group.members:
        group.bring_back(member)
        member.options = [option for option in member.options if option != NOT_YET]
    return group


def member_options(number: int, ports: Sequence[int], name: str) -> list[str]:
    """Those of docs/cluster.md, and those of tests alone."""
    mine = ports[number - 1]
    return [
        f"--server-id={number}",
        "--report-host=127.0.0.1",
        "--gtid-mode=ON",
        "--enforce-gtid-consistency=ON",
        "--relay-log=relay",
        "--plugin-load-add=group_replication.so",
        f"--group-replication-group-name={name}",
        f"--group-replication-local-address=127.0.0.1:{mine}",
        "--group-replication-group-seeds=" + ",".join(f"127.0.0.1:{port}" for port in ports),
        # the other stack opens a port of its own on all of the machine's addresses
        "--group-replication-communication-stack=MYSQL",
        "--group-replication-recovery-use-ssl=ON",
        "--group-replication-ssl-mode=REQUIRED",
        NOT_YET,
        "--group-replication-consistency=BEFORE_ON_PRIMARY_FAILOVER",
        "--group-replication-member-expel-timeout=0",
        "--group-replication-unreachable-majority-timeout=10",
        *OF_TESTS,
    ]


def _leads(member: Server) -> bool:
    """Tell whether it takes writes."""
    if not member.process.is_running():
        return False
    try:
        with member.connect() as connection:
            return what_it_lacks(connection) is None
    except pymysql.MySQLError:
        return False


def _state(member: Server) -> str:
    """What it says of itself; nothing where it does not answer."""
    try:
        rows = member.execute(STATE)
    except pymysql.MySQLError:
        return ""
    return str(rows[0][0]) if rows else ""


def _joined(member: Server) -> bool:
    """Tell whether it is on its way: after a crash, once the others have expelled what it was before."""
    if _state(member) not in ("ONLINE", "RECOVERING"):
        with suppress(pymysql.MySQLError):
            member.execute(BEGIN)
    return _state(member) in ("ONLINE", "RECOVERING")
