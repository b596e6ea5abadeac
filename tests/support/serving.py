"""The `restante` command as its users run it: real gunicorn processes and one-shot commands."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tests.support import forked
from tests.support.ports import free_port
from tests.support.processes import Process
from tests.support.waiting import wait_until

RESTANTE = Path(sys.executable).with_name("restante")
ROOT = Path(__file__).resolve().parents[2]
SECRET_KEY = "a-secret-key-for-tests-that-is-long-enough"
READY_SECONDS = 60.0


@cache
def scratch() -> Path:
    """What the programs of this test process keep outside their database; gone at its end.

    Its path is short: sockets are made in it, and a socket's path may have 107 bytes.
    """
    folder = Path(tempfile.mkdtemp(prefix="restante-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def environment(database_url: str, settings: Mapping[str, str]) -> dict[str, str]:
    """This process's environment without its own settings, and those given."""
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith("RESTANTE_")
    }
    fixed = {
        "RESTANTE_DATABASE_URL": database_url,
        "RESTANTE_INSTANCE": str(scratch() / "instance"),
        "RESTANTE_SECRET_KEY": SECRET_KEY,
        "XDG_RUNTIME_DIR": str(scratch()),
    }
    return {**inherited, **fixed, **settings}


class RestanteCommand:
    """Runs `restante …` against a database."""

    def __init__(self, database_url: str, *, settings: Mapping[str, str] | None = None) -> None:
        self.environment = environment(database_url, settings or {})

    def run(self, *words: str, timeout_seconds: float = 60.0) -> subprocess.CompletedProcess[str]:
        """The finished command, whatever its exit code."""
        return forked.run(words, env=self.environment, cwd=ROOT, timeout_seconds=timeout_seconds)

    def text(self, *words: str) -> str:
        """What a command that must succeed prints."""
        done = self.run(*words)
        if done.returncode:
            raise AssertionError(
                f"restante {' '.join(words)}: exit {done.returncode}\n{done.stdout}{done.stderr}"
            )
        return done.stdout

    def json(self, *words: str) -> dict[str, Any]:
        """The one JSON object that `--json` makes a command print."""
        answer = json.loads(self.text(*words, "--json"))
        assert isinstance(answer, dict), answer
        return answer

    def upgrade(self) -> None:
        """Bring the database's tables to the present schema."""
        self.text("db", "upgrade")

    def create_tenant(self, name: str) -> str:
        """A tenant that takes unsigned requests; its id."""
        return str(self.json("tenant", "create", name, "--unsigned-ok")["tenant_id"])

    def create_project(self, tenant: str, slug: str) -> str:
        return str(self.json("project", "create", "--tenant", tenant, slug)["project_id"])

    def create_agent(
        self, tenant: str, name: str, *, grants: tuple[str, ...] = ()
    ) -> dict[str, Any]:
        """`{agent_id, client_id, client_secret}`."""
        options = [part for grant in grants for part in ("--grant", grant)]
        return self.json("agent", "create", "--tenant", tenant, "--name", name, *options)

    def create_service(self, tenant: str, name: str, *, scopes: tuple[str, ...]) -> dict[str, Any]:
        """`{service_id, client_id, client_secret}`."""
        options = [part for scope in scopes for part in ("--scope", scope)]
        return self.json("service", "create", "--tenant", tenant, "--name", name, *options)


class RestanteProcess(Process):
    """A running `restante …` whose output goes to a file."""

    def __init__(self, words: Sequence[str], *, log: Path, env: Mapping[str, str]) -> None:
        log.parent.mkdir(parents=True, exist_ok=True)
        self.log = log
        self.popen = forked.Forked(words, env=env, cwd=ROOT, stdout=log, stderr=log)


class Served:
    """A `restante serve` with its workers, on a free loopback port."""

    def __init__(
        self,
        database_url: str,
        *,
        log: Path,
        workers: int = 1,
        port: int | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """Start it; `wait_until_ready` is the caller's to call."""
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.workers = workers
        self.settings = {"RESTANTE_PUBLIC_URL": self.url, **(settings or {})}
        self.database_url = database_url
        self.log = log
        self.process = self._start()

    def _start(self) -> Process:
        options = ["--host", "127.0.0.1", "--port", str(self.port), "--workers", str(self.workers)]
        return RestanteProcess(
            ["serve", *options], log=self.log, env=environment(self.database_url, self.settings)
        )

    @property
    def command(self) -> RestanteCommand:
        """The command line with the same settings."""
        return RestanteCommand(self.database_url, settings=self.settings)

    def is_ready(self) -> bool:
        """Tell whether `/health/ready` answers 200; raise if the process has ended."""
        if not self.process.is_running():
            raise AssertionError(f"restante serve ended; its log closes on:\n{self.process.tail()}")
        try:
            with urllib.request.urlopen(f"{self.url}/health/ready", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def wait_until_ready(self) -> None:
        """Return once it is ready; its log is in the error if it never is."""
        try:
            wait_until(self.is_ready, f"{self.url} ready", timeout_seconds=READY_SECONDS)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.process.tail()}") from error

    def worker_pids(self) -> list[int]:
        """The web workers: the children of the process that was started."""
        text = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(word) for word in text.split()]

    def kill_worker(self, pid: int) -> None:
        """SIGKILL one web worker; its master starts another."""
        if pid not in self.worker_pids():
            raise ValueError(f"{pid} is no worker of {self.url}")
        os.kill(pid, signal.SIGKILL)

    def stop(self, *, timeout_seconds: float = 60.0) -> int:
        """SIGTERM: drain, then end. Return the exit code."""
        return self.process.stop(timeout_seconds=timeout_seconds)

    def kill(self) -> None:
        """SIGKILL to master and workers at once."""
        self.process.kill_group()

    def restart(self) -> None:
        """Start it again on the same port and database."""
        self.kill()
        self.process = self._start()
        self.wait_until_ready()


class Alone(Served):
    """The same in an interpreter of its own, as its users start it: its environment says what is loaded."""

    def _start(self) -> Process:
        where = ["--host", "127.0.0.1", "--port", str(self.port)]
        argv: list[str | Path] = [RESTANTE, "serve", *where, "--workers", str(self.workers)]
        env = environment(self.database_url, self.settings)
        return Process(argv, log=self.log, env=env, cwd=ROOT)
