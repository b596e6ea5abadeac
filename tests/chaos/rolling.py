"""A rolling restart under load: web nodes of the release before, the new schema, new code node by node.

`python -m tests.chaos.rolling mariadb`; ends by itself, with 1 where a promise was broken. The release
before is the checkout's own history: the commit before the newest migration came.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from restante.storage.engine import make_engine
from restante.storage.transaction import Database
from tests.acceptance.roster import enrol_in
from tests.acceptance.seeds import drawn_seed, say
from tests.chaos.cellar import cellar
from tests.chaos.house import DATABASE, SETTINGS, Crew, House, node_settings
from tests.chaos.producer import PROJECT
from tests.chaos.proxy import Proxy
from tests.chaos.run import Report, torment
from tests.support.ports import free_port
from tests.support.processes import Process
from tests.support.serving import ROOT, Served, environment
from tests.support.unavailable import Unavailable, run

NODES = 2
PROGRAM = "from commands import main; main(prog_name='restante')"


@dataclass(frozen=True, slots=True)
class Release:
    """The code of a release, in a folder."""

    folder: Path

    def argv(self, *words: str) -> list[str]:
        """Its `restante …`."""
        return [sys.executable, "-P", "-c", PROGRAM, *words]

    def env(self, given: dict[str, str]) -> dict[str, str]:
        """An environment in which its modules come first."""
        return {**given, "PYTHONPATH": str(self.folder)}


class Node(Served):
    """A web node of one release; `release` may be changed before a restart."""

    release: Release

    def __init__(
        self, url: str, release: Release, port: int, log: Path, settings: dict[str, str]
    ) -> None:
        self.release = release
        super().__init__(url, log=log, workers=1, port=port, settings=settings)

    def _start(self) -> Process:
        words = ["serve", "--host", "127.0.0.1", "--port", str(self.port), "--workers", "1"]
        env = self.release.env(environment(self.database_url, self.settings))
        return Process(self.release.argv(*words), log=self.log, env=env, cwd=self.release.folder)


def before(folder: Path) -> Release:
    """The release before the newest migration, unpacked; Unavailable without the history."""
    git = ["git", "-C", str(ROOT)]
    failing = "the release before"
    newest = run(
        [*git, "log", "-1", "--format=%H", "--", "migrations/versions"], failing=failing
    ).strip()
    if not newest:
        raise Unavailable(f"{failing}: this checkout has no history")
    archive = folder / "before.tar"
    run([*git, "archive", "-o", archive, f"{newest}^"], failing=failing)
    with tarfile.open(archive) as tar:
        tar.extractall(folder / "before", filter="data")
    say(f"the release before is {newest[:10]}^")
    return Release(folder / "before")


@contextmanager
def served_by(
    release: Release, backend: str, folder: Path, seed: int, crew: Crew
) -> Iterator[House]:
    """Two nodes, a maintenance and clients, all on that release and its schema; all of it ends."""
    with ExitStack() as stack:
        below = stack.enter_context(cellar(backend, folder, database=DATABASE))
        ports = [free_port() for _ in range(NODES)]
        settings = {**SETTINGS, "RESTANTE_PUBLIC_URL": f"http://127.0.0.1:{ports[0]}"}
        upgrade(release, below.shown, node_settings(settings, folder, 0))
        engine = make_engine(below.url)
        roster = enrol_in(Database(engine), PROJECT, crew.agents)
        engine.dispose()
        nodes: list[Served] = []
        streets = []
        for number, port in enumerate(ports):
            log = folder / f"serve-{number}.log"
            node = Node(below.shown, release, port, log, node_settings(settings, folder, number))
            stack.callback(node.kill)
            nodes.append(node)
            streets.append(Proxy(port))
            stack.callback(streets[-1].close)
        for node in nodes:
            node.wait_until_ready()
        env = environment(below.shown, nodes[0].settings)
        one = House(backend, folder, seed, crew, below, nodes, streets, env, roster)
        maintain(one, release)
        stack.callback(one.end)
        one.begin()
        yield one


def upgrade(release: Release, url: str, settings: dict[str, str]) -> None:
    """`restante db upgrade` of that release."""
    done = subprocess.run(
        release.argv("db", "upgrade"),
        env=release.env(environment(url, settings)),
        cwd=release.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise AssertionError(f"db upgrade of {release.folder}: {done.stdout}{done.stderr}")


def maintain(one: House, release: Release) -> None:
    """A maintenance of that release."""
    env = release.env(dict(one.env))
    log = one.folder / "maintain.log"
    one.maintainer = Process(release.argv("maintain"), log=log, env=env, cwd=release.folder)


def roll(one: House, new: Release, seconds: float) -> Report:
    """Schema first, then one node after the other, drained; then the maintenance; then the books."""

    def at_work(what: str) -> None:
        say(what)
        time.sleep(seconds)

    at_work("old code, old schema")
    upgrade(new, one.cellar.shown, dict(one.nodes[0].settings))
    at_work("old code, new schema")
    for number, node in enumerate(one.nodes):
        assert isinstance(node, Node)
        code = node.stop()
        node.release = new
        node.restart()
        at_work(f"node {number} ended with {code} and is new, beside what is old")
    one.maintainer.stop()
    maintain(one, new)
    at_work("new code, new schema")
    return torment(one, ())


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.rolling", description=__doc__)
    parser.add_argument("backend", choices=["mariadb", "mysql"])
    parser.add_argument("--seconds", type=float, default=8, help="of load in each step")
    parser.add_argument("--seed", type=int)
    args = parser.parse_args(argv)
    seed = drawn_seed() if args.seed is None else args.seed
    say(f"a rolling restart on {args.backend}, seed {seed}")
    try:
        with tempfile.TemporaryDirectory(prefix="restante-rolling-") as temporary:
            folder = Path(temporary)
            with served_by(before(folder), args.backend, folder, seed, Crew()) as one:
                report = roll(one, Release(ROOT), args.seconds)
    except Unavailable as error:
        sys.exit(f"the drill cannot be run here: {error}")
    for line in report.lines():
        say(line)
    sys.exit(1 if report.found else 0)


if __name__ == "__main__":
    main()
