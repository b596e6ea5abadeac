"""An agent that is away, comes back with `restante-agent listen`, and is killed at work."""

from __future__ import annotations

import json
import shlex
import sqlite3
import sys
import time
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from restante_agent.client import Client
from tests.acceptance import effect
from tests.acceptance.fire_consumer import PATIENT
from tests.acceptance.roster import Member
from tests.support.processes import Process
from tests.support.serving import ROOT, environment
from tests.support.waiting import NeverCame, wait_until

LEASE_SECONDS = 8
RESTANTE_AGENT = Path(sys.executable).with_name("restante-agent")


@dataclass
class Away:
    """An agent, whether its process runs or not.

    `hits`: when it was killed, monotonic ns. `finished_by`: the kill by which an event was in its
    record of finished ones.
    """

    member: Member
    url: str
    folder: Path
    process: Process | None = None
    log_began: int = 0
    hits: list[int] = field(default_factory=list)
    finished_by: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        (self.folder / effect.EFFECTS).mkdir(parents=True)
        who = self.member.client_id, self.member.client_secret
        self.client = Client(self.url, *who, retry=PATIENT)

    @property
    def log(self) -> Path:
        return self.folder / "listen.log"

    @property
    def id(self) -> str:
        return self.member.client_id

    def come_back(self) -> None:
        """`restante-agent listen`, with the state that an earlier process left."""
        handler = [sys.executable, "-S", "-E", effect.__file__, str(self.folder)]
        settings = {
            "RESTANTE_URL": self.url,
            "RESTANTE_CLIENT_ID": self.member.client_id,
            "RESTANTE_CLIENT_SECRET": self.member.client_secret,
            "RESTANTE_STATE_DIR": str(self.folder / "state"),
        }
        options = ["--concurrency", "2", "--lease", str(LEASE_SECONDS)]
        self.log_began = self.log.stat().st_size if self.log.exists() else 0
        self.process = Process(
            [RESTANTE_AGENT, "listen", "--exec", shlex.join(handler), *options],
            log=self.log,
            env=environment("", settings),
            cwd=ROOT,
        )

    def is_back(self) -> bool:
        """Tell whether the present process has its stream."""
        return b"stream-ready" in self.log.read_bytes()[self.log_began :]

    def is_at_work(self) -> bool:
        """Tell whether a run of its handler has begun and its effect is not there yet."""
        return any(
            not (self.folder / effect.EFFECTS / run["event"]).exists() for run in self.runs()[-2:]
        )

    def kill(self) -> str:
        """SIGKILL, at work if that comes soon; another process takes its place at once."""
        assert self.process is not None
        with suppress(NeverCame):
            wait_until(self.is_at_work, "work", timeout_seconds=2, interval_seconds=0.001)
        pid = self.process.pid
        self.process.kill()
        self.hits.append(time.monotonic_ns())
        for event in self.record():
            self.finished_by.setdefault(event, self.hits[-1])
        self.come_back()
        return f"agent {pid}"

    def record(self) -> set[str]:
        """The events that its record says are finished; to be read while it does not run."""
        found = set()
        for file in (self.folder / "state").rglob("record.sqlite3"):
            with closing(sqlite3.connect(file)) as kept:
                found.update(event for (event,) in kept.execute("SELECT event_id FROM finished"))
        return found

    def runs(self) -> list[dict[str, Any]]:
        """The runs of its handler, in the order in which they began."""
        file = self.folder / effect.RUNS
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
