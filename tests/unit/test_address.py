"""Database URLs, of one host and of several."""

from __future__ import annotations

import pytest
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from restante.storage.address import parse_address


@pytest.mark.parametrize(
    "text",
    [
        "mysql://user:p%40ss@db/name?ssl_ca=/ca.pem",
        "mysql://user:a,b@db:3307/name",
        "mysql://user@[fd00::7]:3307/name",
        "mariadb://db/name",
        "sqlite:////var/lib/a,b.db",
        "sqlite:///relative.db",
    ],
)
def test_one_host_is_read_as_sqlalchemy_reads_it(text: str) -> None:
    address = parse_address(text)
    assert address.url == make_url(text)
    assert len(address.hosts) == (0 if text.startswith("sqlite") else 1)


def test_several_hosts_are_read_with_their_ports() -> None:
    address = parse_address("mysql://u:a,b%2Fc@db1,db2:3307,[fd00::3]:3308/mail?ssl_ca=/a,b.pem")
    assert address.hosts == (("db1", 3306), ("db2", 3307), ("fd00::3", 3308))
    assert address.url == make_url("mysql://u:a,b%2Fc@db1/mail?ssl_ca=/a,b.pem")


@pytest.mark.parametrize(
    "text",
    [
        "mysql://u@db1,/mail",
        "mysql://u@,db1/mail",
        "mysql://u@db1,db1:3306/mail",
        "mysql://u@db1:a,db2/mail",
        "mysql://u@db1:one/mail",
        "no url",
    ],
)
def test_what_is_no_list_of_hosts_is_refused(text: str) -> None:
    with pytest.raises(ArgumentError):
        parse_address(text)


def test_a_database_is_the_same_in_whatever_order_its_hosts_are_named() -> None:
    one, other = "mysql://u:p@b:3307,a/mail", "mysql://v:q@a,b:3307/mail"
    assert parse_address(one).name == parse_address(other).name
    assert parse_address(one).name != parse_address("mysql://u:p@a,c/mail").name
    assert "u:p" not in parse_address(one).name
    # as files of earlier releases are named
    assert parse_address("mysql://u:p@a/mail").name == "mysql|a|None|mail"
    assert parse_address("mysql://a/mail").place == parse_address("mariadb://a/mail").place


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("mysql://u:secret@db/mail?ssl_key=secret", "mysql://u@db:3306/mail"),
        ("mariadb+pymysql://db:3307/mail", "mariadb+pymysql://db:3307/mail"),
        ("mysql://u:secret@db1,[fd00::3]:3308/mail", "mysql://u@db1:3306,[fd00::3]:3308/mail"),
        ("sqlite:////var/lib/mail.db", "sqlite:////var/lib/mail.db"),
    ],
)
def test_it_is_shown_without_what_is_secret(text: str, shown: str) -> None:
    assert parse_address(text).shown == shown
