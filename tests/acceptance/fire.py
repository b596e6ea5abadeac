"""Set equality under fire: publishers and consumers in processes of their own, and SIGKILLs."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.acceptance.arena import Arena
from tests.acceptance.fire_publisher import PROJECT
from tests.acceptance.roster import Member, Roster, enrol
from tests.acceptance.strikes import Strikes
from tests.support.processes import Process
from tests.support.serving import ROOT, environment
from tests.support.waiting import wait_until

LIMIT_SECONDS = 900.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """How much of it. `kills`: by kind, how many."""

    events: int = 10_000
    publishers: int = 8
    consumers: int = 8
    agents: int = 4
    kills: Mapping[str, int]


FULL = Load(kills={"consumer": 10, "web worker": 5, "database": 1})
SHORT = Load(
    events=400,
    publishers=3,
    consumers=3,
    agents=2,
    kills={"consumer": 3, "web worker": 1, "database": 1},
)


@dataclass(repr=False)
class Fire:
    """The processes of one run. What they did is in their logs, one JSON line a step."""

    arena: Arena
    load: Load
    seed: int
    roster: Roster = field(init=False)
    publishers: list[Process] = field(default_factory=list)
    consumers: list[Process] = field(default_factory=list)
    starts: int = 0

    @property
    def folder(self) -> Path:
        return self.arena.folder

    def begin(self) -> None:
        """Make who takes part, and start them."""
        self.roster = enrol(self.arena, PROJECT, self.load.agents)
        names = [agent.client_id for agent in self.roster.agents]
        for number, share in enumerate(self._shares()):
            words = [f"p{number}", f"{self.seed}-{number}", str(share), *names]
            producer = self.roster.producer
            self.publishers.append(self._start("fire_publisher", f"p{number}", words, producer))
        for slot in range(self.load.consumers):
            self.consumers.append(self._consumer(slot))

    def kill_consumer(self) -> str:
        """SIGKILL to one, and another in its place; the leases of the dead one end by themselves."""
        slot = self.arena.randomly.randrange(self.load.consumers)
        pid = self.consumers[slot].pid
        self.consumers[slot].kill()
        self.consumers[slot] = self._consumer(slot)
        return f"consumer {slot} ({pid})"

    def is_done(self, strikes: Strikes) -> bool:
        """Strike what is due; tell whether all is published and settled."""
        completed = self.arena.number("SELECT COUNT(*) FROM agent_inbox WHERE gate = 6")
        strikes.due(completed / self.load.events)
        for process in (*self.publishers, *self.consumers):
            if not process.is_running() and process.popen.returncode:
                raise AssertionError(f"{process.log.name} ended:\n{process.tail()}")
        if strikes.plan or any(p.is_running() for p in self.publishers):
            return False
        return completed == len(self.lines("p"))

    def lines(self, kind: str) -> list[dict[str, Any]]:
        """The steps of the publishers ("p") or consumers ("c"); a kill may cut the last line short."""
        return [
            json.loads(line)
            for file in sorted(self.folder.glob(f"{kind}*.jsonl"))
            for line in file.read_text().splitlines(keepends=True)
            if line.endswith("\n")
        ]

    def is_answered(self) -> bool:
        """Tell whether the consumers that live have read the answers to all that they sent."""
        for log in (self.folder / f"{p.log.stem}.jsonl" for p in self.consumers):
            lines = (
                [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
            )
            sent = [(n["event"], n["generation"]) for n in lines if n["what"] == "acking"]
            told = {
                (n["event"], n["generation"]) for n in lines if n["what"] in ("acked", "refused")
            }
            if not told.issuperset(sent):
                return False
        return True

    def end(self) -> None:
        for process in (*self.publishers, *self.consumers):
            process.kill_group()

    def _consumer(self, slot: int) -> Process:
        self.starts += 1
        name = f"c{slot}-{self.starts}"
        words = [name, f"{self.seed}-{self.starts}"]
        return self._start("fire_consumer", name, words, self._agent_of(slot))

    def _agent_of(self, slot: int) -> Member:
        return self.roster.agents[slot % self.load.agents]

    def _shares(self) -> list[int]:
        each, rest = divmod(self.load.events, self.load.publishers)
        return [each + (number < rest) for number in range(self.load.publishers)]

    def _start(self, module: str, name: str, words: list[str], who: Member) -> Process:
        settings = {
            "RESTANTE_URL": self.arena.served.url,
            "RESTANTE_CLIENT_ID": who.client_id,
            "RESTANTE_CLIENT_SECRET": who.client_secret,
        }
        return Process(
            [
                sys.executable,
                "-m",
                f"tests.acceptance.{module}",
                self.folder / f"{name}.jsonl",
                *words,
            ],
            log=self.folder / f"{name}.log",
            env=environment("", settings),
            cwd=ROOT,
        )


def burn(arena: Arena, load: Load, *, seed: int, say: Callable[[str], None]) -> Fire:
    """Run it to the end; the ledger (fire_ledger.py) then says whether the books are right."""
    fire = Fire(arena, load, seed)
    carry_out = {
        "consumer": fire.kill_consumer,
        "web worker": arena.kill_web_worker,
        "database": arena.kill_database,
    }
    strikes = Strikes.draw(load.kills, carry_out, seed=seed, say=say)
    began = time.monotonic()
    try:
        fire.begin()
        wait_until(lambda: fire.is_done(strikes), "all is settled", timeout_seconds=LIMIT_SECONDS)
        wait_until(fire.is_answered, "the last answers are read", timeout_seconds=30)
    finally:
        fire.end()
    say(f"{load.events} events published and settled in {time.monotonic() - began:.0f} s")
    return fire
