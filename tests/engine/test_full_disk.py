"""A database without room to write is 503: nothing was done, and the call may be repeated."""

from __future__ import annotations

import pytest
from sqlalchemy.orm import Session

from restante.errors import Overloaded
from tests.support.databases import TestDatabase


@pytest.mark.parametrize("code", [1021, 1026, 1114])
def test_a_full_disk_refuses_the_call(database: TestDatabase, code: int) -> None:
    tries = []

    def write(session: Session) -> None:
        tries.append(1)
        connection = session.connection()
        if database.dialect != "sqlite":
            connection.exec_driver_sql(f"SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = {code}")
        # no more pages than there are
        connection.exec_driver_sql("PRAGMA max_page_count = 1")
        try:
            connection.exec_driver_sql("CREATE TABLE big AS SELECT randomblob(1000000)")
        finally:
            connection.exec_driver_sql("PRAGMA max_page_count = 1073741823")

    with pytest.raises(Overloaded):
        database.run(write)
    assert len(tries) == 1
    assert database.run(lambda s: s.connection().exec_driver_sql("SELECT 1").scalar()) == 1
