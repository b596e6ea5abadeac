"""Upgrading, and what is made of a schema that is older or newer than this release."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, create_engine, inspect, text
from sqlalchemy.exc import OperationalError

from restante.errors import UnsupportedDatabase
from restante.storage import schema
from restante.storage.engine import make_engine
from restante.storage.probe import examine
from restante.storage.schema import SchemaTooOld
from tests.architecture.sources import ROOT

MIGRATIONS = ROOT / "migrations"


@pytest.fixture
def engine(empty_database_url: str) -> Iterator[Engine]:
    made = make_engine(empty_database_url)
    yield made
    made.dispose()


def set_revision(engine: Engine, revision: str) -> None:
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = :r"), {"r": revision})


def test_an_empty_database_is_too_old(engine: Engine) -> None:
    with pytest.raises(SchemaTooOld, match="restante db upgrade"):
        schema.check(engine, MIGRATIONS)
    head = schema.upgrade(engine, MIGRATIONS)
    schema.check(engine, MIGRATIONS)
    assert schema.upgrade(engine, MIGRATIONS) == head


def test_a_newer_schema_serves_and_is_left_alone(engine: Engine) -> None:
    """Release N runs on schema N+1."""
    schema.upgrade(engine, MIGRATIONS)
    set_revision(engine, "9999")
    schema.check(engine, MIGRATIONS)
    assert schema.upgrade(engine, MIGRATIONS) == "9999"


@pytest.mark.servers_only
def test_of_two_upgrades_at_once_one_does_it(engine: Engine) -> None:
    with ThreadPoolExecutor(3) as pool:
        heads = list(pool.map(lambda _: schema.upgrade(engine, MIGRATIONS), range(3)))
    assert len(set(heads)) == 1
    assert "agent_inbox" in inspect(engine).get_table_names()


def test_the_servers_of_the_tests_would_be_served(engine: Engine, backend: str) -> None:
    server = examine(engine)
    server.require()
    assert server.product.lower() == backend
    assert server.name.startswith(server.product)


@pytest.mark.servers_only
def test_a_server_that_keeps_its_own_isolation_is_refused(empty_database_url: str) -> None:
    plain = create_engine(empty_database_url, isolation_level="REPEATABLE READ")
    with pytest.raises(UnsupportedDatabase, match="READ COMMITTED"):
        examine(plain).require()
    plain.dispose()


def test_files_of_migrations_are_named_after_their_revisions() -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    script = ScriptDirectory.from_config(config)
    revisions = [known.revision for known in script.walk_revisions()]
    assert script.get_current_head() == schema.newest(MIGRATIONS)
    assert revisions == sorted(revisions, reverse=True)
    for known in script.walk_revisions():
        assert known.revision == Path(known.path).name.partition("_")[0]
        assert len(known.revision) == 4


def test_a_command_waits_for_its_turn_behind_a_busy_serve(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'mail.db'}"
    busy, patient, hasty = (make_engine(url, busy_seconds=n) for n in (0.05, 10, 0.05))
    schema.upgrade(busy, MIGRATIONS)
    with ThreadPoolExecutor(1) as pool:
        with busy.begin():  # BEGIN IMMEDIATE: the writers' lock
            with pytest.raises(OperationalError, match="locked"):
                schema.revision(hasty)
            asked = pool.submit(schema.revision, patient)
            with pytest.raises(TimeoutError):
                asked.result(timeout=0.2)
        assert asked.result(timeout=30) == schema.newest(MIGRATIONS)
    for engine in (busy, patient, hasty):
        engine.dispose()
