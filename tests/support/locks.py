"""Seeing that a connection waits for a row lock, so that race tests need no sleep."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Connection, Engine, text
from sqlalchemy.orm import Session

from tests.support.waiting import wait_until

_STATE = text("SELECT trx_state FROM information_schema.innodb_trx WHERE trx_mysql_thread_id = :id")


def connection_id(connection: Connection | Session) -> int:
    """The server's number for a connection or a session's present one."""
    return int(connection.execute(text("SELECT CONNECTION_ID()")).scalar_one())


def is_waiting(engine: Engine, number: int) -> bool:
    """Tell whether the connection of that number waits for a lock now (MySQL and MariaDB alike)."""
    with engine.connect() as observer:
        return observer.execute(_STATE, {"id": number}).scalar() == "LOCK WAIT"


def wait_until_blocked(engine: Engine, number: int | Callable[[], int | None]) -> None:
    """Return once the connection waits for a lock; a callable is asked for the number until it has one."""

    def blocked() -> bool:
        found = number() if callable(number) else number
        return found is not None and is_waiting(engine, found)

    wait_until(blocked, "the other connection waits for a lock")
