"""Private database servers on loopback: `python -m tests.support.servers start mysql|mariadb`.

A server's folder holds its data, its log and the number of its process. Root has no password, and the server
listens on 127.0.0.1 alone. It is signalled only by the pid that was started here.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pymysql

from tests.support import mariadb, mysql
from tests.support.ports import free_port
from tests.support.processes import Process
from tests.support.waiting import wait_until

KINDS = {"mariadb": mariadb, "mysql": mysql}
START_SECONDS = 120.0


@dataclass
class Server:
    """A running server; `url` names no database."""

    kind: str
    folder: Path
    port: int
    options: Sequence[str]
    tied: bool
    process: Process = field(init=False)

    @property
    def url(self) -> str:
        return f"mysql+pymysql://root@127.0.0.1:{self.port}/"

    @property
    def pid(self) -> int:
        return self.process.pid

    def connect(self) -> pymysql.connections.Connection[pymysql.cursors.Cursor]:
        """A connection outside of all that is tested, in autocommit."""
        return pymysql.connect(
            host="127.0.0.1", port=self.port, user="root", connect_timeout=5, autocommit=True
        )

    def execute(self, statement: str) -> tuple[tuple[object, ...], ...]:
        """The rows that one statement returns."""
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute(statement)
            return tuple(cursor.fetchall())

    def create_database(self, name: str) -> str:
        """Make an empty database (an old one of that name goes) and return its URL."""
        self.execute(f"DROP DATABASE IF EXISTS `{name}`")
        self.execute(f"CREATE DATABASE `{name}` CHARACTER SET utf8mb4")
        return self.url + name

    def launch(self) -> None:
        """Start the process and wait until it answers; after a crash this includes recovery."""
        data, scratch = self.folder / "data", self.folder / "tmp"
        # a server that starts removes the temporary tables it finds: those of others, in a shared folder
        scratch.mkdir(exist_ok=True)
        # a killed server leaves it behind, and while any process has that number a new one takes it for held
        (data / "server.sock.lock").unlink(missing_ok=True)
        argv = [
            *KINDS[self.kind].server_command(),
            f"--tmpdir={scratch}",
            *self.options,
            f"--port={self.port}",
            f"--datadir={data}",
            "--bind-address=127.0.0.1",
            # relative to the data folder: a socket's full path may be 107 bytes at most
            *("--socket=server.sock", "--pid-file=server.pid"),
            *([] if os.geteuid() else ["--user=root"]),
        ]
        self.process = Process(argv, log=self.folder / "server.log", cwd=data, tied=self.tied)
        (self.folder / "pid").write_text(f"{self.process.pid}\n")
        try:
            wait_until(
                self.answers, f"{self.kind} on port {self.port}", timeout_seconds=START_SECONDS
            )
        except BaseException:
            self.process.kill()
            raise

    def answers(self) -> bool:
        """Tell whether it takes statements; raise if its process has ended."""
        if not self.process.is_running():
            raise RuntimeError(
                f"{self.kind} ended at once; its log closes on:\n{self.process.tail()}"
            )
        try:
            self.execute("SELECT 1")
        except pymysql.err.OperationalError:
            return False
        return True

    def stop(self) -> None:
        """End it in order."""
        self.process.stop()

    def kill(self) -> None:
        """SIGKILL: a crash. Its folder stays, `restart` recovers it."""
        self.process.kill()

    def restart(self) -> None:
        """Start it again on the same folder and port, stopping it first if it runs."""
        self.stop()
        self.launch()


def start(
    kind: str,
    folder: Path,
    *,
    durable: bool = True,
    options: Sequence[str] = (),
    port: int | None = None,
    tied: bool = True,
) -> Server:
    """Start a server on an empty or earlier folder; raise Unavailable if its programs cannot be had.

    `durable=False` drops flushing, which changes no lock. `tied` means that it ends with this process.
    """
    programs = KINDS[kind]
    programs.ensure()
    data, fresh = folder / "data", folder / "data.new"
    if not data.exists():  # made under another name, so that one broken off is not taken for done
        fresh.mkdir(parents=True, exist_ok=True)
        programs.initialise(fresh)
        fresh.rename(data)
    wanted = [
        "--innodb-buffer-pool-size=256M",
        "--max-connections=400",
        *([] if durable else programs.relaxed_options()),
        *options,
    ]
    server = Server(
        kind=kind, folder=folder.absolute(), port=port or free_port(), options=wanted, tied=tied
    )
    server.launch()
    return server


def running_pid(folder: Path) -> int | None:
    """The process that was started for a folder, or None once it is gone.

    Its command line must still name the folder: the system may have given the number to another process.
    """
    try:
        pid = int((folder / "pid").read_text())
        command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError, ValueError):
        return None
    return pid if os.fsencode(f"--datadir={folder.absolute()}/data") in command else None


def stop_folder(folder: Path, number: signal.Signals = signal.SIGTERM) -> bool:
    """Signal the server that was started for a folder, and wait for its end; False if it does not run."""
    pid = running_pid(folder)
    if pid is None:
        return False
    os.kill(pid, number)
    wait_until(lambda: running_pid(folder) is None, f"the end of pid {pid}", timeout_seconds=60)
    return True


if __name__ == "__main__":
    from tests.support.commands import main

    main()
