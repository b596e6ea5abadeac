"""Sequence order is commit order: a reader that has seen n never later finds something at or below n."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable

import orjson
import pytest
from sqlalchemy.orm import Session

from restante.inbox.publish import publish
from tests.factories import Mailbox, pass_time
from tests.races.players import Player, at_once
from tests.races.verbs import publishing, scavenging

pytestmark = pytest.mark.servers_only


class Cursor:
    """A reader that goes on from where it was, and keeps what it saw."""

    def __init__(self, mail: Mailbox) -> None:
        self.mail, self.at = mail, 0
        self.seen: list[int] = []

    def poll(self) -> list[int]:
        page = self.mail.page(after_cursor=self.at, limit=50)
        found = [orjson.loads(e)["sequence_number"] for e in page.events]
        self.seen += found
        self.at = page.next_cursor
        return found


def test_who_began_earlier_and_commits_later_gets_the_later_number(mail: Mailbox) -> None:
    """In process: the first transaction has published and goes on with other things."""
    cursor = Cursor(mail)
    with Session(mail.database.engine) as early:
        (first,) = publish(early, mail.tenant.service, [mail.publication()])
        assert cursor.poll() == []
        second = mail.publish()
        assert (second.sequence_number, cursor.poll()) == (1, [1])
        early.commit()
    assert (first.sequence_number, cursor.poll()) == (2, [2])
    assert first.event_id < second.event_id


@pytest.mark.parametrize("end", ["commits", "rolls back"])
def test_who_has_a_number_keeps_the_next_waiting_until_it_is_seen(mail: Mailbox, end: str) -> None:
    cursor = Cursor(mail)
    first = Player(mail.database, publishing(mail), holding=True)
    second = Player(mail.database, publishing(mail))
    second.wait_until_blocked()
    assert cursor.poll() == []
    if end == "commits":
        first.commit()
        (later,) = second.answer()
        assert later.sequence_number == 2
        assert cursor.poll() == [1, 2]
    else:
        first.roll_back()
        (later,) = second.answer()
        assert later.sequence_number == 1
        assert cursor.poll() == [1]


def test_a_scheduler_and_a_publisher_number_one_after_the_other(mail: Mailbox) -> None:
    cursor = Cursor(mail)
    mail.publish(delay_seconds=5)
    pass_time(mail.database, 5)
    scheduler = Player(mail.database, scavenging(mail), holding=True)
    publisher = Player(mail.database, publishing(mail))
    publisher.wait_until_blocked()
    assert mail.inbox_row().head == 0
    scheduler.commit()
    assert publisher.answer()[0].sequence_number == 2
    assert cursor.poll() == [1, 2]


def test_a_reader_that_polls_throughout_misses_nothing(mail: Mailbox) -> None:
    """Publishers of one or many, some of them roll back, some fan out, some are scheduled."""
    other = mail.tenant.agent()
    cursor, stop = Cursor(mail), threading.Event()
    errors: list[BaseException] = []

    def read() -> None:
        try:
            while not stop.is_set():
                cursor.poll()
        except BaseException as error:  # noqa: BLE001 - shown below
            errors.append(error)

    draw = random.Random(7)

    def one(number: int) -> Callable[[Session], object]:
        size, fails = draw.randint(1, 4), draw.random() < 0.2
        recipients = (mail.id, other.id) if draw.random() < 0.3 else (mail.id,)
        many = [mail.publication(recipients=recipients, correlation_id=f"{number}")] * size

        def work(session: Session) -> object:
            made = publish(session, mail.tenant.service, many)
            if fails:
                raise ZeroDivisionError
            return [p for p in made if p.recipient_id == mail.id]

        return work

    reader = threading.Thread(target=read)
    reader.start()
    published = 0
    for turn in range(12):
        for outcome in at_once(mail.database, [one(turn * 4 + i) for i in range(4)]):
            published += 0 if isinstance(outcome, ZeroDivisionError) else len(outcome)
    stop.set()
    reader.join(30)
    cursor.poll()
    assert not errors
    assert cursor.seen == list(range(1, published + 1))
    assert mail.inbox_row().head == published > 30
    assert mail.database.retries == {}
