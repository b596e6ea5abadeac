"""The migrations make the tables that the code describes, on every database."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Engine, text

from restante.storage.engine import make_engine
from restante.storage.schema import upgrade
from restante.storage.tables import metadata
from tests.architecture.sources import ROOT

MIGRATIONS = ROOT / "migrations"


@pytest.fixture
def migrated(empty_database_url: str) -> Iterator[Engine]:
    engine = make_engine(empty_database_url)
    upgrade(engine, MIGRATIONS)
    yield engine
    engine.dispose()


def parts(engine: Engine, table: str) -> list[str]:
    """What the database itself says a table is made of, in no order: columns, keys, checks, options."""
    with engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            query = text(
                "SELECT sql FROM sqlite_master WHERE tbl_name = :table AND sql IS NOT NULL"
            )
            told = "\n".join(connection.execute(query, {"table": table}).scalars())
        else:
            told = connection.exec_driver_sql(f"SHOW CREATE TABLE `{table}`").one()[1]
    told = re.sub(r" AUTO_INCREMENT=\d+", "", told)
    return sorted(line.strip().rstrip(",") for line in told.splitlines())


def test_the_tables_are_those_of_the_code(
    migrated: Engine, backend: str, tables_on: Callable[[str], tuple[str, Engine]]
) -> None:
    described = tables_on(backend)[1]
    differing = {
        table.name: (parts(migrated, table.name), parts(described, table.name))
        for table in metadata.sorted_tables
        if parts(migrated, table.name) != parts(described, table.name)
    }
    assert not differing


def test_alembic_finds_nothing_to_add(migrated: Engine) -> None:
    """This also finds a table that only the migrations have."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with migrated.begin() as connection:
        config.attributes["connection"] = connection
        command.check(config)


def test_a_second_upgrade_changes_nothing(migrated: Engine) -> None:
    first = {table.name: parts(migrated, table.name) for table in metadata.sorted_tables}
    upgrade(migrated, MIGRATIONS)
    assert {table.name: parts(migrated, table.name) for table in metadata.sorted_tables} == first
