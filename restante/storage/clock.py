"""The database's clock, the only one that decides anything.

`NOW(6)` is the time at which its statement began, on MySQL and MariaDB alike: read it by a
statement after the one that took the lock, or in a locking statement that never waits.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import Session
from sqlalchemy.sql.expression import FunctionElement

from restante.storage.base import Instant
from restante.storage.statement import Statement

OFFSET = "restante.clock_offset"
"""Key of `session.info`: a timedelta added to the clock, so that tests can pass time."""


class utc_now(FunctionElement[datetime]):  # noqa: N801 - reads as the SQL function it is
    """The time at which the statement began: UTC, with microseconds."""

    type = Instant
    inherit_cache = True


@compiles(utc_now)
def _on_servers(element: utc_now, compiler: Any, **kw: Any) -> str:
    return "UTC_TIMESTAMP(6)"


@compiles(utc_now, "sqlite")
def _on_sqlite(element: utc_now, compiler: Any, **kw: Any) -> str:
    return "restante_now()"


class utc_now_plus(FunctionElement[datetime]):  # noqa: N801 - likewise
    """The same, so many microseconds later."""

    type = Instant
    inherit_cache = True


@compiles(utc_now_plus)
def _plus_on_servers(element: utc_now_plus, compiler: Any, **kw: Any) -> str:
    return f"TIMESTAMPADD(MICROSECOND, {compiler.process(element.clauses, **kw)}, UTC_TIMESTAMP(6))"


@compiles(utc_now_plus, "sqlite")
def _plus_on_sqlite(element: utc_now_plus, compiler: Any, **kw: Any) -> str:
    return f"restante_now_plus({compiler.process(element.clauses, **kw)})"


def process_now() -> str:
    """SQLite's clock is that of its process; as text, as SQLite keeps instants."""
    return process_now_plus(0)


def process_now_plus(microseconds: int) -> str:
    """The same, so much later."""
    now = datetime.now(UTC) + timedelta(microseconds=microseconds)
    return now.strftime("%Y-%m-%d %H:%M:%S.%f")


def teach_clock(driver: Any) -> None:
    """Have a connection of SQLite's driver know it."""
    driver.create_function("restante_now", 0, process_now)
    driver.create_function("restante_now_plus", 1, process_now_plus)


def offset(session: Session) -> timedelta:
    """What to add to an instant the database gave."""
    added: timedelta = session.info.get(OFFSET, timedelta(0))
    return added


def database_now(session: Session) -> datetime:
    """The database's time, read by a statement of its own."""
    (row,) = _NOW.rows(session, {})
    now: datetime = row.now
    return now + offset(session)


_NOW = Statement(select(utc_now().label("now")))
