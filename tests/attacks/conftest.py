"""One served installation a attacked for all attacks of a test process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from command_line import MIGRATIONS
from restante.storage import schema
from restante.storage.engine import make_engine
from restante.storage.transaction import Database
from tests.attacks.arena import Arena, Attacker, Tenant
from tests.attacks.wire import new_address
from tests.conftest import wanted_kinds
from tests.support.databases import create_empty
from tests.support.serving import Served
from tests.support.session import known_url


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """On SQLite and on one server: locks differ between those two, and nothing here does else."""
    if "attacked" not in metafunc.fixturenames:
        return
    asked = [kind for kind in wanted_kinds(metafunc.config) if kind == "sqlite" or known_url(kind)]
    servers = [kind for kind in ("mysql", "mariadb") if kind in asked][:1]
    kinds = [kind for kind in asked if kind == "sqlite"] + servers
    metafunc.parametrize("attacked", kinds, scope="session")


@pytest.fixture(scope="session")
def served_arena(attacked: str, worker_folder: Path, worker_name: str) -> Iterator[Arena]:
    url = create_empty(attacked, f"restante_{worker_name}_attacks", worker_folder)
    engine = make_engine(url)
    schema.upgrade(engine, MIGRATIONS)
    log = worker_folder / f"attacks-{attacked}.log"
    folder = worker_folder / f"attacks-{attacked}"
    served = Served(
        url,
        log=log,
        workers=1 if attacked == "sqlite" else 2,
        settings={"RESTANTE_INSTANCE": str(folder)},
    )
    try:
        served.wait_until_ready()
        yield Arena(served, Database(engine), log)
    finally:
        served.process.kill_group()
        engine.dispose()


@pytest.fixture
def arena(served_arena: Arena) -> Arena:
    return served_arena


@pytest.fixture
def acme(arena: Arena) -> Tenant:
    """A tenant with projects a and b."""
    return arena.tenant()


@pytest.fixture
def alice(acme: Tenant) -> Attacker:
    """An agent that may read and claim in project a, with a token, from an address of its own."""
    one = acme.agent()
    one.address = new_address()
    return one.signed_in()
