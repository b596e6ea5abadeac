"""publish and the end of a head on one ordering key: the newcomer is head or waits, never lost."""

from __future__ import annotations

import pytest

from restante.inbox.lifecycle import Gate
from tests.factories import Mailbox
from tests.races.players import Player, at_once
from tests.races.verbs import acking, cancelling, publishing, releasing

pytestmark = pytest.mark.servers_only


def test_the_publisher_was_first(mail: Mailbox) -> None:
    mail.publish(ordering_key="k")
    head = mail.take_one()
    publisher = Player(mail.database, publishing(mail, ordering_key="k"), holding=True)
    acker = Player(mail.database, acking(mail, head))
    acker.wait_until_blocked()
    (new,) = publisher.commit()
    assert new.gate is Gate.WAITING
    acker.answer()
    assert mail.take_one().id == new.event_id


def test_the_settle_was_first(mail: Mailbox) -> None:
    mail.publish(ordering_key="k")
    head = mail.take_one()
    acker = Player(mail.database, acking(mail, head), holding=True)
    publisher = Player(mail.database, publishing(mail, ordering_key="k"))
    publisher.wait_until_blocked()
    acker.commit()
    (new,) = publisher.answer()
    assert new.gate is Gate.CLAIMABLE
    assert mail.take_one().told["fence"] == 2


@pytest.mark.parametrize("first", ["publish", "settle"])
def test_who_was_first_rolled_back(mail: Mailbox, first: str) -> None:
    mail.publish(ordering_key="k")
    head = mail.take_one()
    works = [publishing(mail, ordering_key="k"), acking(mail, head)]
    if first == "settle":
        works.reverse()
    one = Player(mail.database, works[0], holding=True)
    two = Player(mail.database, works[1])
    two.wait_until_blocked()
    one.roll_back()
    two.answer()
    if first == "publish":
        assert (mail.gate(head.id), mail.take()) == (Gate.COMPLETED, [])
        assert mail.publish(ordering_key="k").gate is Gate.CLAIMABLE
    else:
        assert mail.gate(head.id) is Gate.CLAIMED
        mail.ack(head)
        assert len(mail.take()) == 1


def test_a_release_of_the_head_and_a_publisher(mail: Mailbox) -> None:
    mail.publish(ordering_key="k")
    head = mail.take_one()
    publisher = Player(mail.database, publishing(mail, ordering_key="k"), holding=True)
    releaser = Player(mail.database, releasing(mail, head))
    releaser.wait_until_blocked()
    publisher.commit()
    releaser.answer()
    assert [e.id for e in mail.take()] == [head.id]


def test_other_keys_and_plain_mail_do_not_wait(mail: Mailbox) -> None:
    mail.publish(ordering_key="k")
    mail.publish(ordering_key="l")
    k, other = mail.take(limit=2)
    holder = Player(mail.database, acking(mail, k), holding=True)
    second = Player(mail.database, acking(mail, other))
    assert (second.answer()["status"], second.tries) == ("completed", 1)
    third = Player(mail.database, publishing(mail, ordering_key="m"))
    assert third.answer()[0].gate is Gate.CLAIMABLE
    holder.commit()


def test_under_fire_a_key_stays_in_order(mail: Mailbox) -> None:
    """Publishers, settlers and cancels at once: at most one in flight, dense and ascending."""
    done: list[int] = []
    made = cancelled = 0
    for turn in range(12):
        held = mail.take(limit=5)
        assert len(held) <= 1
        works = [publishing(mail, ordering_key="k") for _ in range(2)]
        made += 2
        works += [acking(mail, event) for event in held]
        if turn % 3 == 0:
            latest = mail.publish(ordering_key="k").event_id
            cancelled += 1
            works.append(cancelling(mail, latest))
        for outcome in at_once(mail.database, works):
            assert not isinstance(outcome, Exception), outcome
        done += [event.told["ordering_sequence"] for event in held]
    while held := mail.take():
        done += [event.told["ordering_sequence"] for event in held]
        mail.ack(held[0])
    assert done == sorted(done)
    assert len(done) == made
    assert max(done) == made + cancelled
