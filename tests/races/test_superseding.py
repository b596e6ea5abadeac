"""A publication that supersedes meets a claim, a settle and its like."""

from __future__ import annotations

import pytest

from restante.inbox.lifecycle import Gate
from tests.factories import Mailbox, Tenant, pass_time
from tests.races.players import Player, at_once
from tests.races.verbs import acking, claiming, ids, publishing, releasing

pytestmark = pytest.mark.servers_only

KEY = {"supersedes_key": "k"}


def test_the_publication_was_first(mail: Mailbox) -> None:
    """A claimer passes over what goes, at once; rolled back, it is there again."""
    old = mail.publish(**KEY)
    publisher = Player(mail.database, publishing(mail, **KEY), holding=True)
    claimer = Player(mail.database, claiming(mail))
    assert (ids(claimer.answer()), claimer.tries) == ([], 1)
    publisher.roll_back()
    assert mail.gate(old.event_id) is Gate.CLAIMABLE
    publisher = Player(mail.database, publishing(mail, **KEY), holding=True)
    (new,) = publisher.commit()
    assert mail.gate(old.event_id) is Gate.CANCELLED
    assert [event.id for event in mail.take()] == [new.event_id]


@pytest.mark.parametrize("key", [None, "o"])
def test_the_claim_was_first(mail: Mailbox, key: str | None) -> None:
    old = mail.publish(ordering_key=key, **KEY)
    claimer = Player(mail.database, claiming(mail), holding=True)
    publisher = Player(mail.database, publishing(mail, ordering_key=key, **KEY))
    publisher.wait_until_blocked()
    assert ids(claimer.commit()) == [old.event_id]
    (new,) = publisher.answer()
    assert mail.gate(old.event_id) is Gate.CLAIMED
    assert mail.gate(new.event_id) is (Gate.CLAIMABLE if key is None else Gate.WAITING)


def test_the_claim_was_rolled_back(mail: Mailbox) -> None:
    old = mail.publish(**KEY)
    claimer = Player(mail.database, claiming(mail), holding=True)
    publisher = Player(mail.database, publishing(mail, **KEY))
    publisher.wait_until_blocked()
    claimer.roll_back()
    publisher.answer()
    assert mail.gate(old.event_id) is Gate.CANCELLED


@pytest.mark.parametrize("key", [None, "o"])
@pytest.mark.parametrize("first_is", ["publication", "end"])
def test_it_meets_the_end_of_a_claim(mail: Mailbox, key: str | None, first_is: str) -> None:
    for ends, left in ((acking, Gate.COMPLETED), (releasing, Gate.CLAIMABLE)):
        old = mail.publish(ordering_key=key, **KEY)
        held = mail.take_one()
        assert held.id == old.event_id
        works = [publishing(mail, ordering_key=key, **KEY), ends(mail, held)]
        if first_is == "end":
            works.reverse()
        first = Player(mail.database, works[0], holding=True)
        second = Player(mail.database, works[1])
        second.wait_until_blocked()
        first.commit()
        second.answer()
        # given back before the publication looked, it is held by nobody
        superseded = ends is releasing and first_is == "end"
        assert mail.gate(old.event_id) is (Gate.CANCELLED if superseded else left)
        settle_all(mail)


def settle_all(mail: Mailbox) -> None:
    """Nothing is left for the next round."""
    pass_time(mail.database, 3600)
    while events := mail.take():
        for event in events:
            mail.ack(event)


def test_of_many_at_once_one_stands(mail: Mailbox, tenant: Tenant) -> None:
    """Two fan-outs in opposite orders too: none locks another out."""
    other = tenant.agent()
    to = [(mail.id, other.id), (other.id, mail.id)]
    for _ in range(3):
        outcomes = at_once(
            mail.database,
            [publishing(mail, recipients=to[i % 2], ordering_key=f"o{i}", **KEY) for i in range(6)],
        )
        assert not [o for o in outcomes if isinstance(o, BaseException)]
        for box in (mail, other):
            assert len(box.take()) == 1
        settle_all(mail)
        settle_all(other)
