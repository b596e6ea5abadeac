"""A late ack against the next claim of the same event."""

from __future__ import annotations

import pytest

from restante.errors import StaleClaim
from restante.inbox.lifecycle import Gate
from tests.factories import Mailbox, pass_time
from tests.races.players import Player
from tests.races.verbs import acking, claiming, ids, later

pytestmark = pytest.mark.servers_only


def test_the_new_claim_was_first(mail: Mailbox) -> None:
    mail.publish(backoff=(0.0, 0.0))
    old = mail.take_one(lease_seconds=10)
    after = later(mail, 20)
    claimer = Player(after.database, claiming(after), holding=True)
    acker = Player(mail.database, acking(mail, old))
    acker.wait_until_blocked()
    assert ids(claimer.commit()) == [old.id]
    with pytest.raises(StaleClaim) as stale:
        acker.answer()
    assert stale.value.members == {"reason": "reclaimed", "current_generation": 2}
    row = mail.row(old.id)
    assert (row.gate, row.claim_generation, row.attempts) == (Gate.CLAIMED, 2, 2)


def test_the_ack_was_first(mail: Mailbox) -> None:
    mail.publish(backoff=(0.0, 0.0))
    old = mail.take_one(lease_seconds=10)
    after = later(mail, 20)
    acker = Player(mail.database, acking(mail, old), holding=True)
    claimer = Player(after.database, claiming(after))
    assert (ids(claimer.answer()), claimer.tries) == ([], 1)
    assert acker.commit()["status"] == "completed"
    pass_time(mail.database, 20)
    assert mail.take() == []
    row = mail.row(old.id)
    assert (row.gate, row.claim_generation) == (Gate.COMPLETED, 1)


def test_two_acks_of_one_claim_are_answered_alike(mail: Mailbox) -> None:
    mail.publish()
    event = mail.take_one()
    first = Player(mail.database, acking(mail, event), holding=True)
    second = Player(mail.database, acking(mail, event))
    second.wait_until_blocked()
    told = first.commit()
    assert second.answer() == told
