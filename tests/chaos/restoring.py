"""A backup, a lost time, a restore and `restante db restored`, under readers that never send an epoch.

`python -m tests.chaos.restoring mariadb`; raises AssertionError where a reader was told of another
time's events as if they were those that it had missed, or where anything of the lost time was taken.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from restante.storage.engine import make_engine
from restante.storage.transaction import Database
from tests.acceptance.seeds import say
from tests.acceptance.stage import Stage, call
from tests.support.servers import start
from tests.support.serving import RestanteCommand, Served
from tests.support.unavailable import Unavailable

BEFORE, LOST, AFTER = 6, 5, 12
"""Events before the backup, in the time that is lost, and after it: more than were lost."""


@dataclass(frozen=True, slots=True)
class Place:
    """A database whose files can be kept and put back while nothing has them open."""

    url: str
    keep: Callable[[], None]
    put_back: Callable[[], None]


@contextmanager
def place(backend: str, folder: Path) -> Iterator[Place]:
    """An empty one, for as long as it is needed. Raises Unavailable where it cannot be had."""
    kept = folder / "kept"
    if backend == "sqlite":
        data = folder / "data"
        data.mkdir()
        copy = shutil.copytree
        yield Place(
            f"sqlite:///{data / 'mail.db'}",
            lambda: copy(data, kept) and None,
            lambda: shutil.rmtree(data) or (copy(kept, data) and None),
        )
        return
    server = start(backend, folder / backend)
    data = server.folder / "data"

    def keep() -> None:
        server.stop()
        shutil.copytree(data, kept)
        server.launch()

    def put_back() -> None:
        server.stop()
        shutil.rmtree(data)
        shutil.copytree(kept, data)
        server.launch()

    try:
        yield Place(server.create_database("restante"), keep, put_back)
    finally:
        server.kill()


@dataclass
class Reader:
    """Follows a log by cursor alone. `gone`: how often it was sent to its state."""

    stage: Stage
    cursor: int
    gone: int = 0

    def read(self) -> list[str]:
        """The ids of all that it has not seen, as it goes on from where it was."""
        seen: list[str] = []
        while True:
            token = self.stage.token(self.stage.agent)
            query = f"inbox?after_cursor={self.cursor}&limit=3"
            status, told = call(self.stage.address(query), token)
            if status == 410:
                assert told["state_url"], told
                self.gone += 1
                self.cursor = call(self.stage.address("state"), token)[1]["cursor"]
                continue
            assert status == 200, told
            seen += [event["event_id"] for event in told["events"]]
            self.cursor = told["next_cursor"]
            if not told["has_more"]:
                return seen


def drill(backend: str, folder: Path) -> None:
    """All of it, on a database of its own."""
    with place(backend, folder) as here:
        settings = {"RESTANTE_INSTANCE": str(folder / "instance")}
        command = RestanteCommand(here.url, settings=settings)
        command.upgrade()
        engine = make_engine(here.url, busy_seconds=5)
        stage = Stage(Database(engine), None)  # type: ignore[arg-type]  # nothing is served yet
        engine.dispose()
        with served(here, stage, folder, settings):
            for number in range(BEFORE):
                stage.publish(payload={"n": number})
            early, held = Reader(stage, 0), stage.claim(limit=1, lease_seconds=3_000)[0]
            assert len(early.read()) == BEFORE
        here.keep()
        with served(here, stage, folder, settings):
            lost = [stage.publish(payload={"lost": number}) for number in range(LOST)]
            late = Reader(stage, BEFORE)
            assert late.read() == [event["event_id"] for event in lost]
            lost_claim = stage.claim(limit=1, lease_seconds=3_000)[0]
        here.put_back()
        refused = command.run("db", "restored")
        assert refused.returncode == 0, refused.stderr
        with served(here, stage, folder, settings):
            new = [stage.publish(payload={"new": n}) for n in range(AFTER)]
            _go_on(stage, [early, late, Reader(stage, 0), Reader(stage, BEFORE - 1)])
            _settle_nothing_of_then(stage, held, lost_claim)
            after = [stage.publish()["event_id"] for _ in range(2)]
            for reader in (early, late):
                assert reader.read() == after
            taken = {event["event_id"] for event in stage.claim(limit=100)}
            assert {event["event_id"] for event in new} <= taken
            assert min(event["sequence_number"] for event in new) > BEFORE + LOST


@contextmanager
def served(here: Place, stage: Stage, folder: Path, settings: dict[str, str]) -> Iterator[None]:
    """It is served, with new tokens for all; it is ended in order."""
    one = stage.served = Served(here.url, log=folder / "serve.log", settings=settings)
    stage.tokens.clear()
    try:
        one.wait_until_ready()
        yield
        one.stop()
    finally:
        one.kill()


def _go_on(stage: Stage, readers: list[Reader]) -> None:
    """Each is told once that its time is gone; what it missed it gets by claim (contract 5.9)."""
    for reader in readers:
        before = reader.cursor
        assert reader.read() == [], f"a page after {before} without a word"
        assert reader.gone == 1, before


def _settle_nothing_of_then(stage: Stage, *claims: dict[str, Any]) -> None:
    token = stage.token(stage.agent)
    for claim in claims:
        order = {"claim_generation": claim["claim_generation"]}
        status, told = call(stage.address(f"inbox/{claim['event_id']}/ack"), token, order)
        assert (status, told["type"]) in (
            (409, "/problems/stale-claim"),
            (404, "/problems/not-found"),
        ), told


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.restoring", description=__doc__)
    parser.add_argument("backend", choices=["sqlite", "mariadb", "mysql"])
    args = parser.parse_args()
    say(f"a restore on {args.backend}")
    try:
        with tempfile.TemporaryDirectory(prefix="restante-restore-") as folder:
            drill(args.backend, Path(folder))
    except Unavailable as error:
        sys.exit(f"the drill cannot be run here: {error}")
    say("every reader was told, nothing of the lost time was taken, no number came again")


if __name__ == "__main__":
    main()
