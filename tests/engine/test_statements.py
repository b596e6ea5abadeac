"""How many statements the hot paths send: written down here, so that a change is noticed.

BEGIN and COMMIT are not counted. That nothing asks for RETURNING is checked on every statement of
the suite (tests/support/databases.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import event

from restante.inbox.orders import Ack
from restante.storage.transaction import Database
from tests.factories import Mailbox
from tests.support.databases import refuse_returning


def counted(database: Database, call: Callable[[], Any]) -> list[str]:
    """The first words of each statement sent within."""
    heard: list[str] = []

    def hear(_c: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        words = statement.replace("`", "").split()
        if "inbox.changed_at," in words and words[0] == "SELECT":
            heard.append(LOOK)
            return
        if words[0] == "BEGIN":  # SQLite's is a statement like another
            return
        table = next((w for w in words if w in TABLES), "")
        heard.append(f"{words[0]} {table}".strip())

    event.listen(database.engine, "before_cursor_execute", hear)
    try:
        call()
    finally:
        event.remove(database.engine, "before_cursor_execute", hear)
    return heard


TABLES = {
    *("agent_inbox", "event_content", "inbox", "ordering_key", "ordering_waiting", "wake"),
    *("principal", "publication_key", "claim_record"),
}
LOOK = "look"
SIZES = pytest.mark.parametrize("size", [1, 100])


@SIZES
def test_publish(mail: Mailbox, size: int) -> None:
    many = [mail.publication() for _ in range(size)]
    mail.publish()
    sent = counted(mail.database, lambda: mail.publish_many(many))
    lock = ["UPDATE inbox"] if mail.database.dialect == "mysql" else ["SELECT inbox"]
    content = ["INSERT event_content"]
    if mail.database.dialect == "mysql" and size == 100:
        content = ["SET", *content, "SET"]  # the envelope that all have in common, sent once
    rows = ["INSERT agent_inbox", *content]
    advance = [] if mail.database.dialect == "mysql" else ["UPDATE inbox"]
    assert sent == ["SELECT principal", *lock, *rows, *advance, "INSERT wake"]


@SIZES
def test_claim(mail: Mailbox, size: int) -> None:
    mail.publish_many(mail.publication() for _ in range(size))
    sent = counted(mail.database, lambda: mail.take("p", limit=size))
    assert sent == [LOOK, "SELECT agent_inbox", "UPDATE agent_inbox", "SELECT event_content"]


def test_a_named_claim_costs_two_more(mail: Mailbox) -> None:
    mail.publish()
    sent = counted(mail.database, lambda: mail.take("p", claim_id="n" * 16))
    assert sent[1:3] == ["SELECT claim_record", "INSERT claim_record"]
    assert len(sent) == 6


def test_an_empty_claim_only_looks(mail: Mailbox) -> None:
    assert counted(mail.database, mail.take) == [LOOK]


@SIZES
def test_ack(mail: Mailbox, size: int) -> None:
    mail.publish_many(mail.publication() for _ in range(size))
    orders = [Ack(e.id, e.generation) for e in mail.take(limit=size)]
    sent = counted(mail.database, lambda: mail.settle(*orders))
    assert sent == ["SELECT agent_inbox", "UPDATE agent_inbox", "UPDATE event_content"]


@SIZES
def test_read(mail: Mailbox, size: int) -> None:
    mail.publish_many(mail.publication() for _ in range(size))
    sent = counted(mail.database, lambda: mail.page(limit=size))
    assert sent == [LOOK, "SELECT agent_inbox", "SELECT event_content", "SELECT inbox"]


def test_an_ordering_key_costs_the_lock_of_its_row(mail: Mailbox) -> None:
    first = counted(mail.database, lambda: mail.publish(ordering_key="k"))
    assert first.count("SELECT ordering_key") == 1
    head = mail.take_one()
    sent = counted(mail.database, lambda: mail.ack(head))
    assert sent == [
        "SELECT agent_inbox",
        "SELECT ordering_key",
        "UPDATE agent_inbox",
        "UPDATE event_content",
        "SELECT ordering_waiting",
        "UPDATE ordering_key",
    ]


def test_returning_is_refused() -> None:
    with pytest.raises(AssertionError):
        refuse_returning(None, None, "INSERT INTO a VALUES (1) RETURNING id")
