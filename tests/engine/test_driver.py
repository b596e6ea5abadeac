"""Answers that are read by our own driver: the same values as PyMySQL's, and nothing left over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pymysql
import pytest

from restante.storage.driver import Refused, ask
from tests.support.databases import TestDatabase

pytestmark = pytest.mark.servers_only

# one value of each kind, and lengths on both sides of where the encoding of lengths changes
SELECTS = (
    "SELECT 1 AS a, NULL AS b, 'ä' AS c, X'00FF' AS d, TIMESTAMP'2031-05-06 07:08:09.000010' AS e",
    "SELECT -5 AS a, 18446744073709551615 AS b, 1.50 AS c, 0.25e0 AS d, '' AS e",
    *(f"SELECT REPEAT('x', {n}) AS a, {n} AS b" for n in (250, 251, 65_535, 65_536)),
    "SELECT 1 AS a FROM inbox WHERE 1 = 0",
)


@pytest.fixture
def connection(database: TestDatabase) -> Iterator[Any]:
    raw = database.engine.raw_connection()
    yield raw.dbapi_connection
    raw.invalidate()


def rows(connection: Any, text: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(text)
        return list(cursor.fetchall())


def test_values_are_those_of_pymysql_alone_and_together(connection: Any) -> None:
    expected = [rows(connection, text) for text in SELECTS]
    assert [ask(connection, [text])[0].rows for text in SELECTS] == expected
    assert [answer.rows for answer in ask(connection, SELECTS)] == expected
    assert rows(connection, "SELECT 5") == [(5,)]


def test_a_row_longer_than_a_packet(connection: Any) -> None:
    most = rows(connection, "SELECT @@max_allowed_packet")[0][0]
    for length in (0xFFFFFF - 5, 0xFFFFFF, 0xFFFFFF + 5):
        if length < most:
            ((text,),) = ask(connection, [f"SELECT REPEAT('x', {length})"])[0].rows
            assert len(text) == length


@pytest.mark.parametrize(
    "refused", ["SELECT * FROM nothing", "SELECT (SELECT 1 UNION SELECT 2)", "nonsense"]
)
def test_a_refused_statement_ends_its_own_answer(connection: Any, refused: str) -> None:
    with pytest.raises(Refused) as caught:
        ask(connection, ["SELECT 1", refused, "SET @after = 7"])
    assert caught.value.text == refused
    assert isinstance(caught.value.error, pymysql.err.MySQLError)
    assert ask(connection, ["SELECT @after", "SELECT 2"])[1].rows == [(2,)]


def test_how_many_were_met_and_what_was_made(connection: Any) -> None:
    made = "CREATE TEMPORARY TABLE t (a INT AUTO_INCREMENT PRIMARY KEY, b INT)"
    answers = ask(
        connection,
        [
            made,
            "INSERT INTO t (b) VALUES (1), (2)",
            "UPDATE t SET b = LAST_INSERT_ID(77) WHERE a = 1",
            "UPDATE t SET b = LAST_INSERT_ID(78) WHERE a = 99",
        ],
    )
    assert [answer.met for answer in answers] == [0, 2, 1, 0]
    assert answers[2].made_id == 77


def test_a_killed_connection_is_told_and_closed(database: TestDatabase, connection: Any) -> None:
    with database.engine.connect() as other:
        other.exec_driver_sql(f"KILL {connection.thread_id()}")
    # its last word may be an answer: then the next one finds it gone
    for _ in range(2):
        with pytest.raises((pymysql.err.MySQLError, Refused)):
            ask(connection, ["SELECT 1"])
