"""Engines: MySQL, MariaDB or SQLite, each connection set the same way."""

from __future__ import annotations

import sqlite3
from datetime import datetime
from functools import partial
from typing import Any

from pymysql.constants import FIELD_TYPE
from pymysql.converters import conversions
from sqlalchemy import Engine, create_engine, event
from sqlalchemy.exc import InternalError

from restante.storage.address import Address, parse_address
from restante.storage.clock import teach_clock
from restante.storage.driver import commit
from restante.storage.members import follow, leave_if_led_elsewhere

LOCK_WAIT_SECONDS = 5
SLOT_WAIT_SECONDS = 1
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
# PyMySQL takes instants apart by a regular expression: ten times as long
_CONVERSIONS = {**conversions, FIELD_TYPE.DATETIME: datetime.fromisoformat}


def make_engine(
    url: str, *, slots: int = 10, read_timeout_seconds: int = 30, busy_seconds: float = 0.05
) -> Engine:
    """An engine on `url` with at most `slots` connections.

    `mysql://` and `mariadb://` are driven by PyMySQL (cooperative under gevent); where `url` names several
    hosts, they are a MySQL group's, and connections go to its primary. `busy_seconds`: how long SQLite
    waits for its turn; a wait in there stops the whole process, so it is short in a server.
    """
    address = parse_address(url)
    parsed = address.url
    if parsed.get_backend_name() == "sqlite":
        return _sqlite(url, busy_seconds)
    parsed = parsed.set(drivername="mysql+pymysql").update_query_dict({"charset": "utf8mb4"})
    engine = create_engine(
        parsed,
        hide_parameters=True,  # an error is logged, and payloads are not
        isolation_level="READ COMMITTED",
        pool_size=slots,
        max_overflow=0,
        pool_timeout=SLOT_WAIT_SECONDS,
        pool_recycle=600,
        # a unit of work ends its transaction itself: no second rollback when a connection comes back
        pool_reset_on_return=None,
        connect_args={
            "connect_timeout": 5,
            "conv": _CONVERSIONS,
            # PyMySQL would encrypt wherever the server can: on loopback it only costs
            **({"ssl_disabled": True} if _on_loopback(address) else {}),
            "read_timeout": read_timeout_seconds,
            "write_timeout": read_timeout_seconds,
            "init_command": (
                "SET time_zone='+00:00', sql_mode='TRADITIONAL', "
                f"innodb_lock_wait_timeout={LOCK_WAIT_SECONDS}"
            ),
        },
    )
    # MariaDB would let RETURNING pass, real MySQL would not
    engine.dialect.insert_returning = False
    engine.dialect.delete_returning = False

    @event.listens_for(engine, "connect")
    def _shorten(connection: Any, record: Any) -> None:
        vars(connection)["commit"] = partial(commit, connection)

    @event.listens_for(engine, "handle_error")
    def _drop_broken(context: Any) -> None:
        if isinstance(context.sqlalchemy_exception, InternalError):
            context.invalidate_pool_on_disconnect = False
            context.is_disconnect = True

    event.listen(engine, "handle_error", leave_if_led_elsewhere)
    if len(address.hosts) > 1:
        follow(engine, address.hosts)
    return engine


def _on_loopback(address: Address) -> bool:
    """Whether the servers are this machine's own and nothing is said about TLS."""
    told = any(name.startswith("ssl") for name in address.url.query)
    return not told and all(host in _LOOPBACK for host, _ in address.hosts)


def _sqlite(url: str, busy_seconds: float) -> Engine:
    engine = create_engine(
        url,
        hide_parameters=True,
        connect_args={"timeout": busy_seconds, "check_same_thread": False},
    )
    engine.dialect.insert_returning = False
    engine.dialect.delete_returning = False

    @event.listens_for(engine, "connect")
    def _on_connect(connection: sqlite3.Connection, record: Any) -> None:
        connection.isolation_level = None
        teach_clock(connection)
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _on_begin(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine
