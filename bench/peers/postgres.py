"""A private PostgreSQL of the machine's package, durable, and what peers on it share."""

from __future__ import annotations

import os
import pwd
import re
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

import psycopg

from bench.peers.peer import START_SECONDS, House, Peer, Serial, started
from tests.support.ports import free_port
from tests.support.processes import Process
from tests.support.unavailable import Unavailable, run
from tests.support.waiting import wait_until

SHARED = "postgres"
ASKED = ("server_version", "fsync", "synchronous_commit", "full_page_writes", "wal_sync_method")
# as much room as the other databases have; the rest is as it comes
ROOM = ("shared_buffers=1GB", "max_wal_size=2GB", "max_connections=200")


class Postgres:
    """A server with its own data folder; no password, from this machine alone."""

    def __init__(self, house: House) -> None:
        folder, self.port = house.place("postgres"), free_port()
        as_user: list[str] = []
        if not os.geteuid():  # it refuses to run as root
            os.chown(folder, pwd.getpwnam("postgres").pw_uid, -1)
            house.folder.chmod(0o711)  # on the way to it
            as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
            as_user += ["--pdeathsig=KILL"]  # the change of user takes it away
        data = folder / "data"
        run(
            [
                *as_user,
                _program("initdb"),
                "-D",
                data,
                "-A",
                "trust",
                "-U",
                "postgres",
                "-E",
                "UTF8",
            ],
            failing="making PostgreSQL's data folder",
        )
        settings = (*ROOM, "listen_addresses=127.0.0.1", f"unix_socket_directories={data}")
        argv = [*as_user, _program("postgres"), "-D", data, "-p", str(self.port)]
        argv += [word for setting in settings for word in ("-c", setting)]
        self.process = Process(argv, log=house.folder / "postgres.log", cwd=folder)
        started(self.process, self.port, stop=self._stop, closing=house.closing)
        wait_until(self._answers, "PostgreSQL", timeout_seconds=START_SECONDS)

    def address(self, database: str = "postgres") -> str:
        """For a connection."""
        return f"host=127.0.0.1 port={self.port} user=postgres dbname={database}"

    def execute(self, database: str, *statements: str) -> Sequence[tuple[object, ...]]:
        """The rows of the last of these statements, each committed."""
        with psycopg.connect(self.address(database), autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def asked(self) -> dict[str, str]:
        """What it says of its settings."""
        return {name: str(self.execute("postgres", f"SHOW {name}")[0][0]) for name in ASKED}

    def _answers(self) -> bool:
        try:
            self.execute("postgres", "SELECT 1")
        except psycopg.OperationalError:  # it listens before it is there
            return False
        return True

    def _stop(self) -> None:
        self.process.signal(signal.SIGQUIT)  # without waiting for anybody
        try:
            self.process.popen.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()


class PostgresPeer(Peer):
    """A peer with a database of its own on the one server. `analysed`: its table of jobs."""

    libraries: tuple[str, ...] = ()
    analysed = ""

    def __init__(self, house: House) -> None:
        if SHARED not in house.shared:
            house.shared[SHARED] = Postgres(house)
        self.server: Postgres = house.shared[SHARED]
        self.serial = Serial()
        self.server.execute("postgres", f"CREATE DATABASE {self.name}")
        asked = self.server.asked()
        self.durable = asked["fsync"] == asked["synchronous_commit"] == "on"
        self.said = " ".join(f"{name}={value}" for name, value in asked.items())

    def execute(self, *statements: str) -> Sequence[tuple[object, ...]]:
        return self.server.execute(self.name, *statements)

    def processes(self) -> list[int]:
        return [self.server.process.pid]

    def settle(self) -> None:
        """Autovacuum's look at a table that was empty; without it plans are made for an empty one."""
        self.execute(f"ANALYZE {self.analysed}")


def _program(name: str) -> Path:
    """The newest release's; they are on nobody's PATH."""
    found = Path("/usr/lib/postgresql").glob(f"*/bin/{name}")
    newest = max(found, key=lambda path: int(re.sub(r"\D", "", path.parts[-3])), default=None)
    if newest is None:
        raise Unavailable("PostgreSQL is not installed (apt-get install postgresql)")
    return newest
