"""The migrations make the tables that the code describes, on every database."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Engine, inspect, text

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
            told = "\n".join(map(one_a_line, connection.execute(query, {"table": table}).scalars()))
        else:
            told = connection.exec_driver_sql(f"SHOW CREATE TABLE `{table}`").one()[1]
    told = re.sub(r" AUTO_INCREMENT=\d+", "", told)
    return sorted(line.strip().rstrip(",") for line in told.splitlines() if line.strip())


def one_a_line(statement: str) -> str:
    """A CREATE with each column and constraint on a line: SQLite adds a column to the line of another."""
    depth, told = 0, ""
    for letter in statement:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        told += ",\n" if letter == "," and depth == 1 else letter
    return told


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


def test_migrations_only_add(empty_database_url: str) -> None:
    """Release N runs on what N+1 makes of its schema: what it writes and reads stays as it was."""
    engine = make_engine(empty_database_url)
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    before: dict[str, dict[str, Any]] = {}
    for file in sorted((MIGRATIONS / "versions").glob("[0-9]*.py")):
        with engine.begin() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, file.name.partition("_")[0])
        after = columns(engine)
        for table, known in before.items():
            assert {name: after[table].get(name) for name in known} == known, (file.name, table)
            added = after[table].keys() - known.keys()
            demanded = {name for name in added if "NOT NULL" in after[table][name]}
            assert not {name for name in demanded if "DEFAULT" not in after[table][name]}, table
        before = after
    engine.dispose()


def columns(engine: Engine) -> dict[str, dict[str, Any]]:
    """By table and name, what each column is."""
    inspector = inspect(engine)
    return {
        table: {
            column["name"]: (
                f"{column['type']}{'' if column['nullable'] else ' NOT NULL'}"
                f"{'' if column['default'] is None else ' DEFAULT'}"
            )
            for column in inspector.get_columns(table)
        }
        for table in inspector.get_table_names()
    }
