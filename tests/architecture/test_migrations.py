"""The migrations make the tables that the code describes, on every database."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import Engine, Inspector, inspect, text

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
    """Release N runs on what N+1 makes of its schema: what it writes, reads and names stays as it was."""
    engine = make_engine(empty_database_url)
    before: dict[str, Shape] = {}
    for file in schemas(engine):
        after = shapes(engine)
        for table, known in before.items():
            assert list(known.narrowed(after[table])) == [], (file, table)
        before = after
    engine.dispose()


@pytest.mark.parametrize(
    "wrong",
    [
        "CREATE UNIQUE INDEX one_name ON room (name)",
        "DROP INDEX rooms_of_tenant",
        "ALTER TABLE room DROP COLUMN created_at",
        "ALTER TABLE room ADD COLUMN size INTEGER CHECK (size > 0)",
    ],
)
def test_a_schema_that_demands_more_is_seen(tmp_path: Path, wrong: str) -> None:
    engine = make_engine(f"sqlite:///{tmp_path / 'mail.db'}")
    upgrade(engine, MIGRATIONS)
    before = shapes(engine)["room"]
    with engine.begin() as connection:
        connection.exec_driver_sql(wrong)
    assert list(before.narrowed(before)) == []
    assert list(before.narrowed(shapes(engine)["room"])) != []
    engine.dispose()


def schemas(engine: Engine) -> Iterator[str]:
    """Each migration's file, once it is applied."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    for file in sorted((MIGRATIONS / "versions").glob("[0-9]*.py")):
        with engine.begin() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, file.name.partition("_")[0])
        yield file.name


@dataclass(frozen=True)
class Shape:
    """A table as its statements meet it. `demands`: what a row must keep to."""

    columns: dict[str, str]
    indexes: set[str]
    demands: set[str]

    def narrowed(self, after: Shape) -> Iterator[str]:
        """What a statement written for this table may not find, or is refused for, in the later one."""
        for name, column in self.columns.items():
            if after.columns.get(name) != column:
                yield f"column {name}: {after.columns.get(name)}"
        for name in after.columns.keys() - self.columns.keys():
            if "NOT NULL" in after.columns[name] and "DEFAULT" not in after.columns[name]:
                yield f"column {name}: must be given"
        yield from (f"index {one}: gone" for one in self.indexes - after.indexes)
        yield from self.demands ^ after.demands


def shapes(engine: Engine) -> dict[str, Shape]:
    """Of every table."""
    inspector = inspect(engine)
    return {
        table: Shape(
            columns(inspector, table),
            {
                f"{one['name']} {one['column_names']}"
                for one in inspector.get_indexes(table)
                if not one["unique"]
            },
            demands(inspector, table),
        )
        for table in inspector.get_table_names()
    }


def columns(inspector: Inspector, table: str) -> dict[str, str]:
    """By name, what each column is."""
    return {
        column["name"]: (
            f"{column['type']}{'' if column['nullable'] else ' NOT NULL'}"
            f"{'' if column['default'] is None else ' DEFAULT'}"
        )
        for column in inspector.get_columns(table)
    }


def demands(inspector: Inspector, table: str) -> set[str]:
    """Keys, CHECKs and references."""
    return {
        f"key {inspector.get_pk_constraint(table)['constrained_columns']}",
        *(f"unique {one['column_names']}" for one in inspector.get_unique_constraints(table)),
        *(f"unique {one['column_names']}" for one in inspector.get_indexes(table) if one["unique"]),
        *(f"check {one['sqltext']}" for one in inspector.get_check_constraints(table)),
        *(f"refers {one['referred_table']}" for one in inspector.get_foreign_keys(table)),
    }
