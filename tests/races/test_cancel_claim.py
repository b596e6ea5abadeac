from __future__ import annotations

import pytest

from restante.inbox.lifecycle import Gate
from tests.factories import Mailbox, pass_time
from tests.races.players import Player
from tests.races.verbs import acking, cancelling, claiming, ids, releasing, scavenging

pytestmark = pytest.mark.servers_only


def test_the_cancel_was_first(mail: Mailbox) -> None:
    """A claimer passes it over at once; rolled back, it is there again."""
    event = mail.publish().event_id
    canceller = Player(mail.database, cancelling(mail, event), holding=True)
    claimer = Player(mail.database, claiming(mail))
    assert (ids(claimer.answer()), claimer.tries) == ([], 1)
    assert canceller.commit() == "cancelled"
    assert mail.take() == []

    event = mail.publish().event_id
    canceller = Player(mail.database, cancelling(mail, event), holding=True)
    canceller.roll_back()
    assert mail.take_one().id == event


def test_the_claim_was_first(mail: Mailbox) -> None:
    event = mail.publish().event_id
    claimer = Player(mail.database, claiming(mail), holding=True)
    canceller = Player(mail.database, cancelling(mail, event))
    canceller.wait_until_blocked()
    assert ids(claimer.commit()) == [event]
    assert canceller.answer() == "cancel_requested"
    row = mail.row(event)
    assert (row.gate, row.cancel_requested) == (Gate.CLAIMED, True)


def test_the_claim_was_rolled_back(mail: Mailbox) -> None:
    event = mail.publish().event_id
    claimer = Player(mail.database, claiming(mail), holding=True)
    canceller = Player(mail.database, cancelling(mail, event))
    canceller.wait_until_blocked()
    claimer.roll_back()
    assert canceller.answer() == "cancelled"
    assert mail.row(event).claim_generation == 0


@pytest.mark.parametrize("key", [None, "k"])
def test_the_cancel_of_a_held_event_meets_its_settle(mail: Mailbox, key: str | None) -> None:
    for settling, end in ((acking, Gate.COMPLETED), (releasing, Gate.CLAIMABLE)):
        for cancel_first in (True, False):
            event_id = mail.publish(ordering_key=key).event_id
            event = mail.take_one()
            assert event.id == event_id
            works = [cancelling(mail, event_id), settling(mail, event)]
            if not cancel_first:
                works.reverse()
            first = Player(mail.database, works[0], holding=True)
            second = Player(mail.database, works[1])
            second.wait_until_blocked()
            first.commit()
            try:
                told = second.answer()
            except Exception as error:  # noqa: BLE001 - what it was is asserted
                told = type(error).__name__
            if cancel_first:
                gate = Gate.CANCELLED if end is Gate.CLAIMABLE else end
                assert told["status"] == gate.name.lower()
            else:
                gate = Gate.CANCELLED if end is Gate.CLAIMABLE else end
                assert told == ("cancelled" if end is Gate.CLAIMABLE else "EventFinal")
            assert mail.gate(event_id) is gate


def test_the_cancel_of_a_scheduled_event_meets_its_hour(mail: Mailbox) -> None:
    for cancel_first in (True, False):
        event = mail.publish(delay_seconds=10).event_id
        pass_time(mail.database, 10)
        works = [cancelling(mail, event), scavenging(mail)]
        if cancel_first:
            canceller = Player(mail.database, works[0], holding=True)
            scheduler = Player(mail.database, works[1])
            assert (scheduler.answer(), scheduler.tries) == (0, 1)
            assert canceller.commit() == "cancelled"
            assert mail.inbox_row().head == 0
        else:
            scheduler = Player(mail.database, works[1], holding=True)
            canceller = Player(mail.database, works[0])
            canceller.wait_until_blocked()
            assert scheduler.commit() == 1
            assert canceller.answer() == "cancelled"
            assert mail.inbox_row().head == 1
        assert mail.gate(event) is Gate.CANCELLED
