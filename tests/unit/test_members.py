"""Connections to a group: to whom they go, and what becomes of them when its primary is another one."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self, cast

import pymysql
import pytest
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

import extensions
from app import create_app
from config import load_settings
from restante.errors import OutcomeUnknown
from restante.storage.members import GRANT, PATIENCE_SECONDS, Members, leave_if_led_elsewhere
from restante.storage.transaction import RETRYABLE, commit
from tests.support.serving import SECRET_KEY

HOSTS = [("a", 1), ("b", 2), ("c", 3)]
LEADS = ("ONLINE", "PRIMARY", 0, 1)
FOLLOWS = ("ONLINE", "SECONDARY", 1, 1)
REFUSES = pymysql.OperationalError(2003, "no such host")
CLOSED = pymysql.OperationalError(2013, "lost")


class Connection:
    """Answers every statement with one row, or fails."""

    def __init__(self, row: Any) -> None:
        self.row = row
        self.is_closed = False
        self._read_timeout = 0

    def cursor(self) -> Self:
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def execute(self, _: str) -> None:
        if isinstance(self.row, Exception):
            raise self.row

    def fetchone(self) -> Any:
        return self.row

    def close(self) -> None:
        self.is_closed = True


class Servers:
    """What SQLAlchemy's dialect does of connecting. `rows`: what each host says, or why it refuses."""

    def __init__(self, **rows: Any) -> None:
        self.rows = rows
        self.asked: list[str] = []
        self.made: list[Connection] = []

    def connect(self, *, host: str, port: int, user: str, read_timeout: int) -> Connection:
        assert (host, port) in HOSTS
        assert (user, read_timeout) == ("mail", PATIENCE_SECONDS)
        self.asked.append(host)
        if self.rows[host] is REFUSES:
            raise REFUSES
        self.made.append(Connection(self.rows[host]))
        return self.made[-1]

    def through(self, members: Members) -> Connection:
        told = {"host": "x", "port": 0, "user": "mail", "read_timeout": 30}
        found: Connection = members.connect(self, None, (), told)
        assert found._read_timeout == 30
        return found


def test_connections_go_to_the_primary_and_begin_there_the_next_time() -> None:
    servers, members = Servers(a=REFUSES, b=FOLLOWS, c=LEADS), Members(HOSTS)
    assert servers.through(members).row == LEADS
    assert servers.asked == ["a", "b", "c"]
    assert [one.is_closed for one in servers.made] == [True, False]
    servers.through(members)
    assert servers.asked[3:] == ["c"]


def test_they_follow_it_when_another_takes_over() -> None:
    servers, members = Servers(a=FOLLOWS, b=FOLLOWS, c=LEADS), Members(HOSTS)
    servers.through(members)
    servers.rows = {"a": FOLLOWS, "b": LEADS, "c": REFUSES}
    assert servers.through(members).row == LEADS
    assert servers.asked[3:] == ["c", "a", "b"]


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (FOLLOWS, "is ONLINE SECONDARY"),
        (("RECOVERING", "PRIMARY", 0, 1), "is RECOVERING PRIMARY"),
        (("OFFLINE", "", 0, 1), "is OFFLINE"),
        (("ONLINE", "PRIMARY", 1, 1), "is read-only"),
        (("ONLINE", "PRIMARY", 0, 0), "hears from no majority"),
        (None, "is in no group"),
        (pymysql.OperationalError(1142, "SELECT command denied"), GRANT),
        (pymysql.ProgrammingError(1146, "no such table"), "no such table"),
        (CLOSED, "lost"),
        (REFUSES, "no such host"),
    ],
)
def test_who_is_no_primary_is_told_with_the_reason(row: Any, why: str) -> None:
    servers, members = Servers(a=row, b=REFUSES, c=REFUSES), Members(HOSTS)
    with pytest.raises(pymysql.OperationalError, match="No primary among the hosts") as caught:
        servers.through(members)
    assert caught.value.args[0] == 2003
    assert f"a:1 {why}" in str(caught.value) or why in str(caught.value)
    assert all(one.is_closed for one in servers.made)


@pytest.mark.parametrize(
    ("code", "now", "left"),
    [
        (1290, 0, True),
        (1836, 0, True),
        # it was to lead, and let statements wait too long; its group is being left
        (3781, 0, True),
        (3799, 0, True),
        # a conflict in the group: it takes writes as before, so this transaction is not there
        (3101, 0, False),
        (3100, 0, False),
        # it leaves, and what it waited for may be there
        (3101, 1, True),
        (3100, 1, True),
        (3101, CLOSED, True),
        (1053, CLOSED, True),
        (1213, 1, False),
        (1062, 1, False),
    ],
)
def test_a_connection_is_given_up_where_its_member_leads_no_more(
    code: int, now: Any, left: object
) -> None:
    read_only = now if isinstance(now, Exception) else (now,)
    held = SimpleNamespace(dbapi_connection=Connection(read_only))
    context = SimpleNamespace(
        original_exception=pymysql.OperationalError(code, "…"),
        connection=SimpleNamespace(connection=held),
        is_disconnect=False,
    )
    leave_if_led_elsewhere(context)
    assert context.is_disconnect is left


def test_an_error_of_connecting_has_no_connection_to_give_up() -> None:
    context = SimpleNamespace(
        original_exception=pymysql.OperationalError(1290), connection=None, is_disconnect=False
    )
    leave_if_led_elsewhere(context)
    assert context.is_disconnect is False


@pytest.mark.parametrize(
    ("statement", "code", "invalidated", "raised"),
    [
        # a member that leads no more refuses before anything is decided
        ("COMMIT", 1290, True, DBAPIError),
        ("SELECT 1", 3781, True, DBAPIError),
        # a conflict, by a member that leads on
        ("COMMIT", 3101, False, DBAPIError),
        ("COMMIT", 3101, True, OutcomeUnknown),
        ("COMMIT", 3100, True, OutcomeUnknown),
        ("COMMIT", 2013, True, OutcomeUnknown),
        (None, 2013, True, OutcomeUnknown),
        ("UPDATE inbox", 2013, True, DBAPIError),
    ],
)
def test_what_became_of_a_commit_is_unknown_only_where_it_is(
    statement: str | None, code: int, *, invalidated: bool, raised: type[Exception]
) -> None:
    class Failing:
        def commit(self) -> None:
            error = pymysql.OperationalError(code)
            raise DBAPIError(statement, None, error, connection_invalidated=invalidated)

    with pytest.raises(raised):
        commit(cast("Session", Failing()))


def test_an_application_is_made_on_several_hosts(tmp_path: Path) -> None:
    settings = load_settings(
        instance=tmp_path, database_url="mysql://u@a:1,b:2/mail", secret_key=SECRET_KEY
    )
    made = create_app(settings)
    with made.app_context():
        assert extensions.db.engine.url.host == "a"


def test_what_a_group_refuses_is_repeated() -> None:
    assert {1180, 3100, 3101, 1290, 1836, 3781, 3782, 3783, 3796, 3797, 3798, 3799} <= RETRYABLE
    # a table that no group takes: it would be refused for ever
    assert 3098 not in RETRYABLE
