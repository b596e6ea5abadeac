"""Two claimers at once get disjoint events and neither waits for the other."""

from __future__ import annotations

import pytest

from restante.inbox.lifecycle import Gate
from tests.factories import Mailbox
from tests.races.players import Player, at_once
from tests.races.verbs import acking, cancelling, claiming, ids

pytestmark = pytest.mark.servers_only


@pytest.mark.parametrize("end", ["commits", "rolls back"])
def test_disjoint_events_and_no_waiting(mail: Mailbox, end: str) -> None:
    published = [mail.publish().event_id for _ in range(4)]
    first = Player(mail.database, claiming(mail, limit=2), holding=True)
    second = Player(mail.database, claiming(mail, limit=9))
    assert ids(second.answer()) == published[2:]
    assert second.tries == 1
    if end == "commits":
        assert ids(first.commit()) == published[:2]
        assert mail.take() == []
    else:
        first.roll_back()
        assert [e.id for e in mail.take()] == published[:2]
        assert [mail.row(e).claim_generation for e in published] == [1] * 4
    assert mail.database.retries == {}


@pytest.mark.parametrize("order", ["pq", "qp"])
def test_claimers_of_disjoint_projects_both_fill_up(mail: Mailbox, order: str) -> None:
    """Also where the first asks for more than there is, and so looks at what lies behind."""
    mine = {p: [mail.publish(project=p).event_id for _ in range(5)] for p in order}
    waiting = [mail.publish(project=p, ordering_key="k").event_id for p in order * 3]
    one, two = order
    first = Player(mail.database, claiming(mail, one, limit=50), holding=True)
    second = Player(mail.database, claiming(mail, two, limit=50))
    assert ids(second.answer()) == [*mine[two], waiting[1]]
    assert ids(first.commit()) == [*mine[one], waiting[0]]
    assert mail.database.retries == {}


def test_two_inboxes_do_not_know_each_other(mail: Mailbox) -> None:
    other = mail.tenant.agent()
    for box in (mail, other):
        for _ in range(3):
            box.publish()
    for one, two in ((mail, other), (other, mail)):
        first = Player(mail.database, claiming(one, limit=50), holding=True)
        second = Player(mail.database, claiming(two, limit=50), holding=True)
        for player in (first, second):
            assert player.tries == 1
            player.roll_back()


def test_an_open_claim_of_everything_keeps_nobody_from_settling(mail: Mailbox) -> None:
    """What a claim has looked at and not taken stays free: heads are promoted, mail is cancelled."""
    keyed = [mail.publish(ordering_key="k").event_id for _ in range(3)]
    head = mail.take_one()
    delayed = mail.publish().event_id
    mail.release(mail.take_one(), delay=50)
    mail.publish()
    claimer = Player(mail.database, claiming(mail, limit=50), holding=True)
    acker = Player(mail.database, acking(mail, head))
    canceller = Player(mail.database, cancelling(mail, delayed))
    assert acker.answer()["status"] == "completed"
    assert canceller.answer() == "cancelled"
    assert mail.gate(keyed[1]) is Gate.CLAIMABLE
    assert len(claimer.commit().events) == 1


def test_many_claimers_share_an_inbox_without_a_rest(mail: Mailbox) -> None:
    published = mail.publish_many(mail.publication(project="pq"[i % 2]) for i in range(120))
    taken: list[bytes] = []
    for _ in range(20):
        answers = at_once(mail.database, [claiming(mail, limit=3) for _ in range(4)])
        for answer in answers:
            taken += ids(answer)
        if len(taken) == 120:
            break
    assert len(taken) == len(set(taken)) == 120
    assert set(taken) == {p.event_id for p in published}
    assert {mail.row(e).claim_generation for e in taken} == {1}
