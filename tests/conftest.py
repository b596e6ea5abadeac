"""One run of the suite: its servers, and the fixtures that tests stand on."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import hypothesis
import pytest
from sqlalchemy import Engine

from restante.storage.engine import make_engine
from tests.support.databases import (
    TestDatabase,
    create_empty,
    create_migrated,
    create_with_tables,
    empty_tables,
)
from tests.support.servers import Server, start
from tests.support.serving import RestanteCommand, Served
from tests.support.session import KINDS, ServersOfRun, known_url

# Folders whose tests touch no database server: asking for these alone starts none.
SERVERLESS = ("tests/unit", "tests/sdk", "tests/docs")

_servers = pytest.StashKey[ServersOfRun]()
_served = pytest.StashKey[list[Served]]()

hypothesis.settings.register_profile("default", max_examples=50, deadline=None)
# the same examples every time, so that a red run is about the change
hypothesis.settings.register_profile(
    "ci", max_examples=100, deadline=None, derandomize=True, database=None
)
hypothesis.settings.register_profile("thorough", max_examples=2000, deadline=None)
hypothesis.settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "default")
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--backends",
        default=",".join(KINDS),
        help="databases to test on, comma-separated (default: %(default)s)",
    )


def wanted_kinds(config: pytest.Config) -> list[str]:
    """The kinds of database asked for."""
    kinds = [kind.strip() for kind in config.getoption("--backends").split(",") if kind.strip()]
    if unknown := set(kinds) - set(KINDS):
        raise pytest.UsageError(
            f"--backends: {', '.join(sorted(unknown))} is not one of {', '.join(KINDS)}"
        )
    return kinds


def needs_servers(config: pytest.Config) -> bool:
    """Tell whether the paths asked for can hold a test that uses a server."""
    if config.option.collectonly or config.option.help:
        return False
    root = config.rootpath
    paths = [
        Path(config.invocation_params.dir, arg.split("::")[0]).resolve() for arg in config.args
    ]
    return not all(
        any(path.is_relative_to(root / folder) for folder in SERVERLESS) for path in paths
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Start the servers in the process that controls the run; workers find them in their environment."""
    if hasattr(config, "workerinput") or not needs_servers(config):
        return
    servers = config.stash[_servers] = ServersOfRun()
    try:
        servers.start(wanted_kinds(config))
        if servers.left_out and os.environ.get("CI"):
            raise pytest.UsageError(
                "; ".join(f"{kind}: {why}" for kind, why in servers.left_out.items())
            )
    except BaseException:
        servers.end()
        raise


def pytest_unconfigure(config: pytest.Config) -> None:
    if servers := config.stash.get(_servers, None):
        servers.end()


def left_out_lines(config: pytest.Config) -> list[str]:
    servers = config.stash.get(_servers, None)
    return (
        [f"left out: {kind} - {why}" for kind, why in servers.left_out.items()] if servers else []
    )


def pytest_report_header(config: pytest.Config) -> list[str]:
    kinds = [kind for kind in wanted_kinds(config) if kind == "sqlite" or known_url(kind)]
    return [f"databases: {', '.join(kinds)}", *left_out_lines(config)]


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    for line in left_out_lines(config):
        terminalreporter.write_line(line, yellow=True)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that uses `backend` (or `database`) once for each kind; `servers_only` leaves out SQLite.

    `one_server("mysql")` runs on that one, or on the other server where a run has not got it.
    """
    if "backend" not in metafunc.fixturenames:
        return
    kinds = [kind for kind in wanted_kinds(metafunc.config) if kind == "sqlite" or known_url(kind)]
    if metafunc.definition.get_closest_marker("servers_only"):
        kinds = [kind for kind in kinds if kind != "sqlite"]
    if one := metafunc.definition.get_closest_marker("one_server"):
        servers = [kind for kind in kinds if kind != "sqlite"]
        kinds = [kind for kind in servers if kind in one.args] or servers[:1]
    metafunc.parametrize("backend", kinds, scope="session")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show what served processes wrote when their test fails."""
    report = yield
    if report.failed:
        report.sections += [
            (f"log of {s.url}", s.process.tail(60)) for s in item.stash.get(_served, [])
        ]
    return report


@pytest.fixture(scope="session")
def worker_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that this worker alone uses."""
    return tmp_path_factory.mktemp("worker")


@pytest.fixture(scope="session")
def worker_name() -> str:
    """`gw0`, `gw1`, …; `main` without workers."""
    return os.environ.get("PYTEST_XDIST_WORKER", "main")


@pytest.fixture(scope="session")
def tables_on(
    worker_folder: Path, worker_name: str
) -> Iterator[Callable[[str], tuple[str, Engine]]]:
    """Gives, by kind, the URL of this worker's database with tables and an engine on it."""
    made: dict[str, tuple[str, Engine]] = {}

    def on(kind: str) -> tuple[str, Engine]:
        if kind not in made:
            made[kind] = create_with_tables(kind, f"restante_{worker_name}", worker_folder)
        return made[kind]

    yield on
    for _, engine in made.values():
        engine.dispose()


@pytest.fixture
def database(backend: str, tables_on: Callable[[str], tuple[str, Engine]]) -> TestDatabase:
    """This worker's database on the backend, with its tables, all empty."""
    url, engine = tables_on(backend)
    empty_tables(engine)
    return TestDatabase(backend, url, engine)


@pytest.fixture(scope="session")
def migrated_on(worker_folder: Path, worker_name: str) -> Callable[[str], str]:
    """Gives, by kind, the URL of this worker's migrated database, emptied."""
    made: dict[str, str] = {}

    def on(kind: str) -> str:
        if kind not in made:
            made[kind] = create_migrated(kind, f"restante_{worker_name}_served", worker_folder)
        engine = make_engine(made[kind])
        empty_tables(engine)
        engine.dispose()
        return made[kind]

    return on


@pytest.fixture
def migrated_database_url(backend: str, migrated_on: Callable[[str], str]) -> str:
    """The URL of a database with the present schema and nothing in it: for served processes."""
    return migrated_on(backend)


@pytest.fixture
def empty_database_url(backend: str, worker_folder: Path, worker_name: str) -> str:
    """The URL of a database without any table: for migrations."""
    return create_empty(backend, f"restante_{worker_name}_empty", worker_folder)


@pytest.fixture
def private_server(backend: str, tmp_path: Path) -> Iterator[Server]:
    """A durable server of this test alone, to be killed and restarted (mark it `servers_only`)."""
    server = start(backend, tmp_path / backend)
    yield server
    server.kill()
    shutil.rmtree(server.folder)


@pytest.fixture
def serve(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., Served]]:
    """Starts real `restante serve` processes: `serve(database_url, workers=1, settings={…})`."""
    started = request.node.stash.setdefault(_served, [])

    def begin(
        database_url: str, *, workers: int = 1, settings: dict[str, str] | None = None
    ) -> Served:
        log = tmp_path / f"serve-{len(started)}.log"
        one = Served(database_url, log=log, workers=workers, settings=settings or {})
        started.append(one)
        one.wait_until_ready()
        return one

    yield begin
    for one in started:
        one.process.kill_group()


@pytest.fixture
def restante_command() -> Callable[[str], RestanteCommand]:
    """Runs commands against a database: `restante_command(url).json("tenant", "create", "acme")`."""
    return RestanteCommand
