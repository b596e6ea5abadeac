"""Redrive against claim on one ordering key, and against retention."""

from __future__ import annotations

import pytest

from restante.inbox.lifecycle import Gate
from restante.inbox.quarantine import NotQuarantined
from tests.factories import Mailbox, pass_time
from tests.races.players import Player
from tests.races.verbs import acking, archiving, claiming, ids, raising_the_floor, redriving

pytestmark = pytest.mark.servers_only


def keyed(mail: Mailbox) -> tuple[bytes, bytes, bytes]:
    """Of one key: the first in quarantine, the second its head, the third waits."""
    made = [mail.publish(ordering_key="k").event_id for _ in range(3)]
    mail.reject(mail.take_one())
    return made[0], made[1], made[2]


def test_the_redrive_was_first(mail: Mailbox) -> None:
    old, head, third = keyed(mail)
    redriver = Player(mail.database, redriving(mail, old), holding=True)
    claimer = Player(mail.database, claiming(mail))
    assert (ids(claimer.answer()), claimer.tries) == ([head], 1)
    redriver.commit()
    assert (mail.gate(old), mail.take()) == (Gate.WAITING, [])
    assert mail.gate(third) is Gate.WAITING


def test_the_claim_was_first(mail: Mailbox) -> None:
    old, head, _ = keyed(mail)
    claimer = Player(mail.database, claiming(mail), holding=True)
    redriver = Player(mail.database, redriving(mail, old))
    redriver.answer()
    assert ids(claimer.commit()) == [head]
    assert (mail.gate(old), mail.take()) == (Gate.WAITING, [])


@pytest.mark.parametrize("first", ["redrive", "ack"])
def test_the_end_of_the_last_head_and_a_redrive(mail: Mailbox, first: str) -> None:
    """Exactly one of them makes the redriven event the head."""
    for _ in range(2):
        mail.publish(ordering_key="k")
    old = mail.take_one()
    mail.reject(old)
    head = mail.take_one()
    works = [redriving(mail, old.id), acking(mail, head)]
    if first == "ack":
        works.reverse()
    one = Player(mail.database, works[0], holding=True)
    two = Player(mail.database, works[1])
    two.wait_until_blocked()
    one.commit()
    if first == "ack":
        with pytest.raises(Exception, match="force it"):
            two.answer()
        mail.redrive(old.id, force=True)
    else:
        two.answer()
    (again,) = mail.take()
    assert (again.id, again.told["fence"]) == (old.id, 3)


def test_two_redrives_of_one_event(mail: Mailbox) -> None:
    old, _, _ = keyed(mail)
    one = Player(mail.database, redriving(mail, old), holding=True)
    two = Player(mail.database, redriving(mail, old))
    two.wait_until_blocked()
    one.commit()
    with pytest.raises(NotQuarantined):
        two.answer()
    assert [e["kind"] for e in mail.read(old)["timeline"]].count("redriven") == 1


def aged(mail: Mailbox) -> tuple[bytes, list[bytes]]:
    """Old mail: one in quarantine between two that are pending, and a young one."""
    first = mail.publish(priority=-1).event_id
    poison = mail.publish(priority=9).event_id
    mail.reject(mail.take_one())
    last = mail.publish(priority=-1).event_id
    pass_time(mail.database, days=31)
    young = mail.publish().event_id
    return poison, [first, last, young]


@pytest.mark.parametrize("step", [raising_the_floor, archiving], ids=["floor", "archive"])
def test_retention_was_first(mail: Mailbox, step) -> None:
    poison, (first, last, young) = aged(mail)
    if step is archiving:
        mail.run(raising_the_floor(mail))
    eater = Player(mail.database, step(mail), holding=True)
    redriver = Player(mail.database, redriving(mail, poison))
    if step is raising_the_floor:
        redriver.wait_until_blocked()
    eater.commit()
    redriver.answer()
    mail.retain()
    assert [mail.row(e) is None for e in (first, last, poison, young)] == [True, True, False, False]
    assert mail.inbox_row().oldest_cursor == 3
    assert [e.id for e in mail.take()] == [poison, young]


@pytest.mark.parametrize("step", [raising_the_floor, archiving], ids=["floor", "archive"])
def test_the_redrive_came_before_retention(mail: Mailbox, step) -> None:
    poison, (first, last, young) = aged(mail)
    if step is archiving:
        mail.run(raising_the_floor(mail))
    redriver = Player(mail.database, redriving(mail, poison), holding=True)
    eater = Player(mail.database, step(mail))
    if step is raising_the_floor:
        eater.wait_until_blocked()
    redriver.commit()
    eater.answer()
    mail.retain()
    assert [mail.row(e) is None for e in (first, last, young)] == [True, True, False]
    head = mail.take(limit=1)[0]
    assert (head.id, head.told["redriven"]) == (poison, True)
    assert mail.ack(head)["status"] == "completed"
