"""A database without room to write is 503: nothing was done, and the call may be repeated."""

from __future__ import annotations

import pytest
from sqlalchemy.orm import Session

from restante.errors import Overloaded
from tests.support.databases import TestDatabase

FULL = (1021, 1026, 1114)


def test_a_full_disk_refuses_the_call(database: TestDatabase) -> None:
    for code in FULL:
        _refused(database, code)


def _refused(database: TestDatabase, code: int) -> None:
    tries = []

    def write(session: Session) -> None:
        tries.append(1)
        connection = session.connection()
        if database.dialect != "sqlite":
            connection.exec_driver_sql(f"SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = {code}")
        # as many pages as there are, in use and free
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
        free = connection.exec_driver_sql("PRAGMA freelist_count").scalar() or 0
        size = connection.exec_driver_sql("PRAGMA page_size").scalar() or 0
        try:
            connection.exec_driver_sql(
                f"CREATE TABLE big AS SELECT randomblob({(free + 100) * size})"
            )
        finally:
            connection.exec_driver_sql("PRAGMA max_page_count = 1073741823")

    with pytest.raises(Overloaded):
        database.run(write)
    assert len(tries) == 1
    assert database.run(lambda s: s.connection().exec_driver_sql("SELECT 1").scalar()) == 1
