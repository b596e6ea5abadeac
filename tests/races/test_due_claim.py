"""Timers of one process against the claim of another: nobody waits, nothing is done twice."""

from __future__ import annotations

import pytest

from restante.inbox.lifecycle import Gate
from tests.factories import Mailbox, pass_time
from tests.races.players import Player, at_once
from tests.races.verbs import claiming, ids, publishing, scavenging

pytestmark = pytest.mark.servers_only


def delayed(mail: Mailbox) -> bytes:
    event = mail.publish().event_id
    mail.release(mail.take_one(), delay=10)
    pass_time(mail.database, 10)
    return event


def scheduled(mail: Mailbox) -> bytes:
    event = mail.publish(delay_seconds=10).event_id
    pass_time(mail.database, 10)
    return event


def leased(mail: Mailbox) -> bytes:
    event = mail.publish(backoff=(0.0, 0.0)).event_id
    mail.take_one(lease_seconds=10)
    pass_time(mail.database, 10)
    return event


kinds = pytest.mark.parametrize("make_due", [delayed, scheduled, leased])


@kinds
def test_the_timer_was_first(mail: Mailbox, make_due) -> None:
    event = make_due(mail)
    timer = Player(mail.database, scavenging(mail), holding=True)
    claimer = Player(mail.database, claiming(mail))
    assert (ids(claimer.answer()), claimer.tries) == ([], 1)
    assert timer.commit() == 1
    assert mail.take_one().id == event


@kinds
def test_the_claim_was_first(mail: Mailbox, make_due) -> None:
    event = make_due(mail)
    claimer = Player(mail.database, claiming(mail), holding=True)
    timer = Player(mail.database, scavenging(mail, nowait=True))
    assert (timer.answer(), timer.tries) == (0, 1)
    assert ids(claimer.commit()) == [event]
    assert mail.run_due() == 0


@kinds
def test_two_scavengers_move_each_event_once(mail: Mailbox, make_due) -> None:
    event = make_due(mail)
    first = Player(mail.database, scavenging(mail), holding=True)
    second = Player(mail.database, scavenging(mail, nowait=True))
    assert (second.answer(), second.tries) == (0, 1)
    assert first.commit() == 1
    assert mail.run_due() == 0
    row = mail.row(event)
    assert (row.gate, row.sequence_number) == (Gate.CLAIMABLE, 1)


@kinds
def test_a_scavenger_that_dies_leaves_it_to_the_next(mail: Mailbox, make_due) -> None:
    event = make_due(mail)
    first = Player(mail.database, scavenging(mail), holding=True)
    first.roll_back()
    assert mail.run_due() == 1
    assert mail.take_one().id == event


def test_two_scavengers_number_scheduled_events_once(mail: Mailbox) -> None:
    made = mail.publish_many(mail.publication(delay_seconds=10) for _ in range(30))
    pass_time(mail.database, 10)
    first = Player(mail.database, scavenging(mail), holding=True)
    second = Player(mail.database, scavenging(mail))
    second.wait_until_blocked()
    assert (first.commit(), second.answer()) == (30, 0)
    numbers = [mail.row(p.event_id).sequence_number for p in made]
    assert numbers == list(range(1, 31))
    assert mail.inbox_row().head == 30


def test_many_scavengers_end_every_lease_once(mail: Mailbox) -> None:
    keys = ["kl"[i % 2] if i % 3 else None for i in range(60)]
    mail.publish_many(mail.publication(ordering_key=key, backoff=(1e6, 1e6)) for key in keys)
    held = mail.take(limit=60, lease_seconds=10)
    mail.publish_many(mail.publication(delay_seconds=5) for _ in range(20))
    pass_time(mail.database, 10)
    moved = at_once(mail.database, [scavenging(mail) for _ in range(4)])
    assert sum(moved) + mail.run_due() == len(held) + 20
    for event in held:
        (entry,) = mail.read(event.id)["timeline"]
        assert (entry["kind"], entry["generation"]) == ("lease_expired", 1)
        assert mail.row(event.id).attempts == 1
    assert mail.inbox_row().head == 80


def test_a_publisher_at_work_does_not_hold_a_claim_up(mail: Mailbox) -> None:
    """The claim leaves scheduled events where the inbox is locked; the next look finds them."""
    plain = mail.publish().event_id
    due = scheduled(mail)
    publisher = Player(mail.database, publishing(mail), holding=True)
    claimer = Player(mail.database, claiming(mail))
    assert (ids(claimer.answer()), claimer.tries) == ([plain], 1)
    assert mail.gate(due) is Gate.SCHEDULED
    published = publisher.commit()[0].event_id
    assert [e.id for e in mail.take()] == [published, due]
