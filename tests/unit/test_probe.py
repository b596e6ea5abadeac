"""What the server's settings mean, without a server."""

from __future__ import annotations

from typing import cast

import pytest
from pymysql import OperationalError
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from restante.errors import UnsupportedDatabase
from restante.storage.durability import durability
from restante.storage.finding import Level
from restante.storage.members import GRANT
from restante.storage.probe import (
    OLDEST,
    Server,
    _cluster,
    _isolation,
    _refused,
    _too_old,
    parse_version,
)

SAFE = {
    "innodb_flush_log_at_trx_commit": "1",
    "sync_binlog": "1",
    "innodb_doublewrite": "ON",
    "max_allowed_packet": "67108864",
    "binlog_row_image": "MINIMAL",
    "log_bin": "ON",
}


@pytest.mark.parametrize(
    ("spoken", "version"),
    [
        ("8.0.36", (8, 0, 36)),
        ("9.7.4-log", (9, 7, 4)),
        ("10.11.6-MariaDB-1:10.11.6+maria~deb12", (10, 11, 6)),
        ("5.5.5-10.3.39-MariaDB", (10, 3, 39)),
        ("8.4-rc", (8, 4)),
        ("nonsense", (0,)),
    ],
)
def test_versions(spoken: str, version: tuple[int, ...]) -> None:
    assert parse_version(spoken) == version


@pytest.mark.parametrize(
    ("product", "version"),
    [("MySQL", (5, 7, 44)), ("MariaDB", (10, 5, 99)), ("MySQL", (0,)), ("SQLite", (3, 34, 1))],
)
def test_what_is_too_old_is_refused_with_what_would_do(
    product: str, version: tuple[int, ...]
) -> None:
    (finding,) = _too_old(product, version)
    assert finding.level is Level.REFUSED
    assert ".".join(map(str, OLDEST[product])) in finding.sentence
    with pytest.raises(UnsupportedDatabase, match="too old"):
        Server(product, version, (finding,)).require()


@pytest.mark.parametrize(
    ("product", "version"),
    [("MySQL", (8, 0, 0)), ("MySQL", (9, 7, 4)), ("MariaDB", (10, 6, 0)), ("MariaDB", (11, 4, 2))],
)
def test_what_is_new_enough(product: str, version: tuple[int, ...]) -> None:
    assert list(_too_old(product, version)) == []


def test_a_safe_server_has_nothing_to_mend() -> None:
    assert list(durability(SAFE)) == []
    Server("MySQL", (8, 4), ()).require()


@pytest.mark.parametrize(
    ("name", "value", "level"),
    [
        ("innodb_flush_log_at_trx_commit", "2", Level.WARNING),
        ("innodb_flush_log_at_trx_commit", "0", Level.WARNING),
        ("sync_binlog", "0", Level.WARNING),
        ("innodb_doublewrite", "OFF", Level.WARNING),
        ("max_allowed_packet", "1048576", Level.WARNING),
        ("binlog_row_image", "FULL", Level.NOTE),
    ],
)
def test_a_relaxed_flag_is_told_with_its_remedy(name: str, value: str, level: Level) -> None:
    (finding,) = durability({**SAFE, name: value})
    assert (finding.level, finding.subject) == (level, name)
    assert name in finding.sentence


def test_the_binary_log_matters_only_where_there_is_one() -> None:
    without = {**SAFE, "log_bin": "OFF", "sync_binlog": "0", "binlog_row_image": "FULL"}
    assert list(durability(without)) == []


def test_a_server_with_a_refusal_says_why() -> None:
    with pytest.raises(UnsupportedDatabase, match="because"):
        Server("MySQL", (8, 4), (_refused("x", "because."),)).require()


def test_a_group_that_does_not_tell_its_members_is_refused_with_the_grant() -> None:
    class Denying:
        def execute(self, _: object) -> None:
            raise DBAPIError(None, None, OperationalError(1142, "SELECT command denied"))

    (finding,) = _cluster({"group_replication_group_name": "x"}, cast("Connection", Denying()))
    assert finding.level is Level.REFUSED
    assert GRANT in finding.sentence
    assert list(_cluster({}, cast("Connection", Denying()))) == []


def levels(variables: dict[str, str], spoken: str = "READ-COMMITTED") -> list[str]:
    """What a server with these variables is refused for, and whose connections get this isolation."""

    class Answering:
        def execute(self, _: object) -> Answering:
            return self

        def scalar(self) -> str:
            return spoken

    connection = cast("Connection", Answering())
    found = [*_isolation(variables, connection), *_cluster(variables, connection)]
    assert all(finding.level is Level.REFUSED for finding in found)
    return [finding.subject for finding in found]


GROUP = {
    "group_replication_group_name": "x",
    "group_replication_single_primary_mode": "ON",
    "group_replication_consistency": "BEFORE_ON_PRIMARY_FAILOVER",
}


@pytest.mark.parametrize(
    ("variables", "subjects"),
    [
        ({}, []),
        (GROUP, []),
        ({"log_bin": "ON", "binlog_format": "STATEMENT"}, ["binlog_format"]),
        ({"log_bin": "OFF", "binlog_format": "STATEMENT"}, []),
        ({"read_only": "ON"}, ["read_only"]),
        ({"wsrep_on": "ON"}, ["galera"]),
        ({**GROUP, "group_replication_single_primary_mode": "OFF"}, ["group_replication"]),
        (
            {**GROUP, "group_replication_consistency": "EVENTUAL"},
            ["group_replication_consistency"],
        ),
    ],
)
def test_a_server_that_cannot_keep_a_promise(
    variables: dict[str, str], subjects: list[str]
) -> None:
    assert levels(variables) == subjects


def test_a_proxy_that_keeps_its_own_isolation() -> None:
    assert levels({}, "REPEATABLE-READ") == ["isolation"]
