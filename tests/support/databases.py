"""A worker's own database on each backend, with empty tables at the start of each test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pymysql
from sqlalchemy import Engine, event
from sqlalchemy.engine import make_url

from command_line import MIGRATIONS
from restante.storage import schema
from restante.storage.engine import make_engine
from restante.storage.tables import metadata
from restante.storage.transaction import Database
from tests.support.session import known_url


class TestDatabase(Database):
    """A unit-of-work runner on a test's own database; `clock_offset` may be moved."""

    __test__ = False

    def __init__(self, kind: str, url: str, engine: Engine) -> None:
        super().__init__(engine)
        self.kind = kind
        self.url = url

    @property
    def dialect(self) -> str:
        """SQLAlchemy's name: "sqlite" or "mysql" (MariaDB too; `kind` tells them apart)."""
        return self.engine.dialect.name


def create_empty(kind: str, name: str, folder: Path) -> str:
    """Make an empty database of the name and return its URL."""
    if kind == "sqlite":
        path = folder / f"{name}.db"
        for file in folder.glob(f"{name}.db*"):
            file.unlink()
        return f"sqlite:///{path}"
    url = known_url(kind)
    if url is None:
        raise LookupError(f"this run has no {kind} server")
    parts = make_url(url)
    with pymysql.connect(
        host=parts.host, port=parts.port or 3306, user=parts.username or "root", autocommit=True
    ) as connection:
        cursor = connection.cursor()
        cursor.execute(f"DROP DATABASE IF EXISTS `{name}`")
        cursor.execute(f"CREATE DATABASE `{name}` CHARACTER SET utf8mb4")
    return url + name


def create_migrated(kind: str, name: str, folder: Path) -> str:
    """Make a database as `restante db upgrade` does, and return its URL."""
    url = create_empty(kind, name, folder)
    engine = make_engine(url)
    schema.upgrade(engine, MIGRATIONS)
    engine.dispose()
    return url


def create_with_tables(kind: str, name: str, folder: Path) -> tuple[str, Engine]:
    """A database that has the tables of the metadata, and an engine on it."""
    url = create_empty(kind, name, folder)
    engine = make_engine(url, slots=20)
    if kind == "sqlite":
        event.listen(engine, "connect", do_not_flush)
    event.listen(engine, "before_cursor_execute", refuse_returning)
    metadata.create_all(engine)
    return url, engine


def do_not_flush(driver: Any, _record: object) -> None:
    """As for the servers: nobody pulls the plug on SQLite's files of a test."""
    driver.execute("PRAGMA synchronous=OFF")


def refuse_returning(_connection: object, _cursor: object, statement: str, *_rest: object) -> None:
    """MariaDB lets through what real MySQL has not."""
    assert " RETURNING " not in statement.upper(), statement


def empty_tables(engine: Engine) -> None:
    """Delete all rows."""
    with engine.begin() as connection:
        filled = set(connection.exec_driver_sql(FILLED).scalars())
        for name in _LAST_FIRST:
            if name in filled:
                connection.exec_driver_sql(f"DELETE FROM {name}")


_LAST_FIRST = [table.name for table in reversed(metadata.sorted_tables)]
# most tables are empty, and one statement tells which are not; as text, for it is run before every test
FILLED = " UNION ALL ".join(
    f"SELECT '{name}' WHERE EXISTS (SELECT 1 FROM {name})" for name in _LAST_FIRST
)
