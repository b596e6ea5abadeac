"""A real `restante serve` on SQLite with one tenant, and agents made in it by its command line."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from restante_agent import AsyncClient, Client
from tests.support.processes import Process
from tests.support.serving import RestanteCommand, Served

COMMAND = [sys.executable, "-m", "restante_agent"]
PROJECT = "demo"


@dataclass(frozen=True, slots=True)
class Account:
    """A principal of the server."""

    url: str
    client_id: str
    client_secret: str

    def client(self, **options: Any) -> Client:
        return Client(self.url, self.client_id, self.client_secret, **options)

    def async_client(self) -> AsyncClient:
        return AsyncClient(self.url, self.client_id, self.client_secret)

    def environment(self, state: Path) -> dict[str, str]:
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("RESTANTE_")}
        return {
            **inherited,
            "RESTANTE_URL": self.url,
            "RESTANTE_CLIENT_ID": self.client_id,
            "RESTANTE_CLIENT_SECRET": self.client_secret,
            "RESTANTE_STATE_DIR": str(state),
        }

    def start(self, *words: str, state: Path, log: Path) -> Process:
        return Process([*COMMAND, *words], log=log, env=self.environment(state))

    def run(self, *words: str, state: Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*COMMAND, *words],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=90,
            env=self.environment(state),
        )


class Server:
    """Served for a module's tests."""

    def __init__(self, folder: Path, **settings: str) -> None:
        database = f"sqlite:///{folder}/restante.sqlite3"
        RestanteCommand(database).upgrade()
        self.served = Served(database, log=folder / "serve.log", settings=settings)
        self.served.wait_until_ready()
        self.command = self.served.command
        self.tenant = self.command.create_tenant("sdk")
        self.command.create_project(self.tenant, PROJECT)
        self._made = 0

    def agent(self, *verbs: str) -> Account:
        """A new agent with these verbs (default: read, claim, publish) for the project."""
        self._made += 1
        grants = tuple(f"agent:{PROJECT}:{v}" for v in verbs or ("read", "claim", "publish"))
        made = self.command.create_agent(self.tenant, f"agent-{self._made}", grants=grants)
        return Account(self.served.url, made["client_id"], made["client_secret"])

    def service(self, *scopes: str) -> Account:
        self._made += 1
        made = self.command.create_service(self.tenant, f"service-{self._made}", scopes=scopes)
        return Account(self.served.url, made["client_id"], made["client_secret"])
