"""The statements of docs/publishing.md, from a driver that knows nothing of us."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import orjson
import pymysql
import pytest
from sqlalchemy.engine import make_url

from restante.inbox.lifecycle import Gate
from restante.storage.ids import new_id
from tests.docs.pages import ROOT, blocks
from tests.factories import Mailbox, Tenant
from tests.support.databases import TestDatabase

pytestmark = pytest.mark.servers_only

STATEMENTS = {
    block.language.split()[1]: re.sub(
        r"(?<=[\s(=-]):(\w+)", r"%(\1)s", block.text.replace("%", "%%")
    )
    for block in blocks(ROOT / "docs" / "publishing.md")
    if block.language.startswith("sql ")
}
PAYLOAD = '{"order": 103, "for": "Mina \u00e9"}'.encode()


def connect(database: TestDatabase) -> Any:
    url = make_url(database.url)
    return pymysql.connect(
        host=url.host,
        port=url.port or 3306,
        user=url.username,
        password=url.password or "",
        database=url.database,
        charset="utf8mb4",
    )


@pytest.fixture(params=["READ COMMITTED", "REPEATABLE READ"])
def connection(database: TestDatabase, request: pytest.FixtureRequest) -> Iterator[Any]:
    """An application's, with what it has of its own."""
    with connect(database) as one, one.cursor() as cursor:
        cursor.execute(f"SET SESSION TRANSACTION ISOLATION LEVEL {request.param}")
        cursor.execute("CREATE TABLE IF NOT EXISTS shop (number INTEGER PRIMARY KEY)")
        cursor.execute("DELETE FROM shop")
        one.commit()
        yield one
        one.rollback()
        cursor.execute("DROP TABLE shop")


def values(mail: Mailbox, **members: Any) -> dict[str, Any]:
    return {
        "recipient": mail.id,
        "service": mail.tenant.service.id,
        "project": "p",
        "event": new_id(),
        "payload": PAYLOAD,
        "type": "order_received",
        "priority": 3,
        "correlation_id": "order-103",
        **members,
    }


def look_up(connection: Any, told: dict[str, Any]) -> bool:
    with connection.cursor(pymysql.cursors.DictCursor) as cursor:
        cursor.execute(STATEMENTS["lookup"], told)
        row = cursor.fetchone()
    told |= row or {}
    return row is not None


def put(connection: Any, *publications: dict[str, Any]) -> list[int]:
    """As the page says: numbers first, ascending by recipient; not committed."""
    with connection.cursor() as cursor:
        for told in sorted(publications, key=lambda told: told["recipient"]):
            assert cursor.execute(STATEMENTS["number"], told) == 1
            told["number"] = cursor.lastrowid
        for told in publications:
            for name in ("event", "content", "ring"):
                assert cursor.execute(STATEMENTS[name], told) == 1
    return [told["number"] for told in publications]


def test_it_is_an_event_like_another(connection: Any, mail: Mailbox) -> None:
    before = mail.publish(correlation_id="order-103", type="order_received", priority=3)
    told = values(mail)
    assert look_up(connection, told)
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO shop VALUES (103)")
    assert put(connection, told) == [2]
    assert mail.gate(told["event"]) is None
    connection.commit()
    plain, like = mail.page().events
    plain, like = orjson.loads(plain), orjson.loads(like)
    assert plain.keys() == like.keys()
    assert plain["event_id"].endswith(before.event_id.hex())
    apart = {"event_id", "sequence_number", "created_at", "available_at", "payload"}
    assert {k: v for k, v in plain.items() if k not in apart} == {
        k: v for k, v in like.items() if k not in apart
    }
    assert like["payload"] == orjson.loads(PAYLOAD)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", like["created_at"])
    assert [event.id for event in mail.take()] == [before.event_id, told["event"]]
    third = mail.publish()
    assert third.sequence_number == 3


def test_a_rollback_leaves_neither(connection: Any, mail: Mailbox) -> None:
    told = values(mail)
    look_up(connection, told)
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO shop VALUES (103)")
        put(connection, told)
        connection.rollback()
        for table in ("shop", "wake", "agent_inbox", "event_content"):
            assert cursor.execute(f"SELECT 1 FROM {table}") == 0
    assert mail.publish().sequence_number == 1


def test_to_several_beside_the_server(connection: Any, mail: Mailbox, tenant: Tenant) -> None:
    """Many at once number densely, and lock nobody out."""
    other = tenant.agent()
    told = [values(mail), values(other)]
    assert all(look_up(connection, one) for one in told)
    connection.commit()

    def apply(turn: int) -> None:
        with connect(mail.database) as one:
            for _ in range(5):
                pair = [one_of | {"event": new_id()} for one_of in told]
                put(one, *(pair if turn % 2 else pair[::-1]))
                one.commit()

    def serve(_: int) -> None:
        for _ in range(5):
            mail.publish(recipients=(other.id, mail.id))

    with ThreadPoolExecutor(4) as pool:
        work = [
            *(pool.submit(apply, n) for n in range(2)),
            *(pool.submit(serve, n) for n in range(2)),
        ]
        for one in work:
            one.result()
    for box in (mail, other):
        numbers = [event.told["sequence_number"] for event in box.take(limit=100)]
        assert sorted(numbers) == list(range(1, 21))
        assert box.inbox_row().head == 20


def test_who_may_not_be_written_to_is_not_found(
    connection: Any, mail: Mailbox, tenant: Tenant
) -> None:
    assert not look_up(connection, values(mail, project="nothing"))
    assert not look_up(connection, values(mail, service=new_id()))
    assert not look_up(connection, values(mail, recipient=new_id()))
    assert not look_up(connection, values(tenant.agent("q")))
    mail.set_limits(status="removed")
    connection.rollback()
    assert not look_up(connection, values(mail))


def test_a_full_inbox_takes_no_more(connection: Any, mail: Mailbox) -> None:
    told = values(mail)
    look_up(connection, told)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE inbox SET unsettled_bound = 100000")
        connection.commit()
        assert cursor.execute(STATEMENTS["number"], told) == 0
    connection.rollback()
    assert mail.gate(mail.publish().event_id) is Gate.CLAIMABLE  # it has counted anew
    connection.rollback()
    put(connection, told)
    connection.commit()
    assert len(mail.take()) == 2
