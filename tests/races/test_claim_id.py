"""Two first calls of one claim_id: a client that gave up waiting asks again while the first runs."""

from __future__ import annotations

import pytest

from restante.inbox import claim as claim_module
from tests.factories import Mailbox
from tests.races.players import Player, at_once, stop_before
from tests.races.verbs import claiming, ids

pytestmark = pytest.mark.servers_only
NAME = "n" * 16
both = pytest.mark.parametrize("limit", [1, 10], ids=["some left", "all taken"])


@both
def test_the_second_repeats_the_first(mail: Mailbox, limit: int) -> None:
    published = [mail.publish().event_id for _ in range(4)]
    first = Player(mail.database, claiming(mail, claim_id=NAME, limit=limit), holding=True)
    second = Player(mail.database, claiming(mail, claim_id=NAME, limit=limit))
    second.wait_until_blocked()
    taken = ids(first.commit())
    assert taken == published[:limit]
    repeated = second.answer()
    assert (ids(repeated), repeated.spent) == (taken, False)
    assert [mail.row(e).claim_generation for e in taken] == [1] * len(taken)


@both
def test_the_first_rolled_back(mail: Mailbox, limit: int) -> None:
    published = [mail.publish().event_id for _ in range(4)]
    first = Player(mail.database, claiming(mail, claim_id=NAME, limit=limit), holding=True)
    second = Player(mail.database, claiming(mail, claim_id=NAME, limit=limit))
    second.wait_until_blocked()
    first.roll_back()
    # InnoDB undoes the record of the claim before it lets go of the events: who waited for the one
    # may find the others still locked, and is told what is left to claim
    answer = second.answer()
    assert ids(answer) or answer.claimable == len(published)
    rest = ids(mail.claim(claim_id=NAME, limit=limit))
    assert rest == (ids(answer) or published[:limit])
    assert [mail.row(e).claim_generation for e in rest] == [1] * len(rest)


@both
def test_the_first_has_only_just_locked_its_events(
    mail: Mailbox, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    published = [mail.publish().event_id for _ in range(4)]
    with stop_before(monkeypatch, claim_module, "_lease") as stop:
        first = Player(mail.database, claiming(mail, claim_id=NAME, limit=limit))
        stop.wait_until_reached()
        second = Player(mail.database, claiming(mail, claim_id=NAME, limit=limit))
        second.wait_until_blocked()
        stop.let_go()
    taken = ids(first.answer())
    assert taken == ids(second.answer()) == published[:limit]


def test_another_claim_does_not_wait_for_it(mail: Mailbox) -> None:
    published = [mail.publish().event_id for _ in range(2)]
    first = Player(mail.database, claiming(mail, claim_id=NAME, limit=1), holding=True)
    second = Player(mail.database, claiming(mail, claim_id="o" * 16, limit=1))
    assert (ids(second.answer()), second.tries) == (published[1:], 1)
    assert ids(first.commit()) == published[:1]


def test_many_first_calls_claim_once(mail: Mailbox) -> None:
    mail.publish_many(mail.publication() for _ in range(20))
    answers = at_once(mail.database, [claiming(mail, claim_id=NAME, limit=3) for _ in range(4)])
    assert {tuple(ids(answer)) for answer in answers} == {tuple(ids(answers[0]))}
    assert len(ids(answers[0])) == 3
    assert mail.claim(limit=100).claimable == 0
