"""The database servers of one test run: started once, and shared by all workers."""

from __future__ import annotations

import os
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tests.support import servers
from tests.support.servers import Server
from tests.support.unavailable import Unavailable

KINDS = ("sqlite", "mariadb", "mysql")

# A server ends with the thread that started it (processes.die_with_parent): these outlive their work.
_threads = ThreadPoolExecutor(2)


def variable(kind: str) -> str:
    """The environment variable by which workers learn of a server."""
    return f"RESTANTE_TEST_{kind.upper()}_URL"


def known_url(kind: str) -> str | None:
    """The URL of a run's server, without a database, or None if the run goes without."""
    return os.environ.get(variable(kind)) or None


@dataclass
class ServersOfRun:
    """What the controlling process holds; `left_out` says by kind why a server could not be had."""

    folder: Path = field(
        default_factory=lambda: Path(tempfile.mkdtemp(prefix="restante-test-servers-"))
    )
    running: list[Server] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)

    def start(self, kinds: list[str]) -> None:
        """Start those of the kinds that are servers, side by side, and note them in the environment."""
        started = {
            kind: _threads.submit(servers.start, kind, self.folder / kind, durable=False)
            for kind in kinds
            if kind in servers.KINDS
        }
        for kind, future in started.items():
            os.environ.pop(variable(kind), None)
            try:
                server = future.result()
            except Unavailable as error:
                self.left_out[kind] = str(error)
                continue
            self.running.append(server)
            os.environ[variable(kind)] = server.url

    def end(self) -> None:
        """End what was started and remove its data: nobody will read it, so nothing is flushed first."""
        for server in self.running:
            server.kill()
        shutil.rmtree(self.folder, ignore_errors=True)
