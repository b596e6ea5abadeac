"""ack, renew, release, reject against the end of the lease: one of them wins, the other learns it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from restante.errors import StaleClaim
from restante.inbox import timers
from restante.inbox.lifecycle import Gate
from restante.inbox.orders import Reject
from restante.inbox.settle import settle_one
from tests.factories import Event, Mailbox
from tests.races.players import Player, stop_before
from tests.races.verbs import acking, cancelling, later, releasing, renewing, scavenging

pytestmark = pytest.mark.servers_only


def rejecting(mail: Mailbox, event: Event) -> Callable[..., Any]:
    order = Reject(event.id, event.generation, "never")
    return lambda session: settle_one(session, mail.agent, order)


SETTLES = {
    "ack": (acking, Gate.COMPLETED),
    "renew": (renewing, Gate.CLAIMED),
    "release": (releasing, Gate.CLAIMABLE),
    "reject": (rejecting, Gate.QUARANTINED),
}
each = pytest.mark.parametrize("verb", SETTLES)
keyed = pytest.mark.parametrize("key", [None, "k"], ids=["plain", "keyed"])


def claimed(mail: Mailbox, key: str | None) -> Event:
    """Under a lease of 10 s; a second event of the key waits."""
    mail.publish(ordering_key=key, max_attempts=1)
    mail.publish(ordering_key=key)
    return mail.take_one(lease_seconds=10)


@each
@keyed
def test_the_settle_was_first(mail: Mailbox, verb: str, key: str | None) -> None:
    event = claimed(mail, key)
    settling, gate = SETTLES[verb]
    settler = Player(mail.database, settling(mail, event), holding=True)
    after = later(mail, 20)
    scavenger = Player(after.database, scavenging(after))
    assert (scavenger.answer(), scavenger.tries) == (0, 1)
    settler.commit()
    assert mail.gate(event.id) is gate
    row = mail.row(event.id)
    assert after.run_due() == 0
    assert mail.row(event.id) == row


@each
@keyed
def test_the_end_of_the_lease_was_first(mail: Mailbox, verb: str, key: str | None) -> None:
    event = claimed(mail, key)
    settling, _ = SETTLES[verb]
    after = later(mail, 20)
    scavenger = Player(after.database, scavenging(after), holding=True)
    settler = Player(mail.database, settling(mail, event))
    settler.wait_until_blocked()
    assert scavenger.commit() == 1
    with pytest.raises(StaleClaim) as stale:
        settler.answer()
    assert stale.value.members == {"reason": "quarantined", "current_generation": 1}
    assert mail.gate(event.id) is Gate.QUARANTINED
    assert len(mail.take()) == 1


@each
def test_the_end_of_the_lease_was_rolled_back(mail: Mailbox, verb: str) -> None:
    event = claimed(mail, "k")
    settling, gate = SETTLES[verb]
    after = later(mail, 20)
    scavenger = Player(after.database, scavenging(after), holding=True)
    settler = Player(mail.database, settling(mail, event))
    settler.wait_until_blocked()
    scavenger.roll_back()
    settler.answer()
    assert mail.gate(event.id) is gate


@each
def test_who_waited_past_the_end_of_his_lease_has_lost_it(mail: Mailbox, verb: str) -> None:
    """The clock is read after the lock: when the settle was called its lease had still held."""
    event = claimed(mail, None)
    before = mail.row(event.id)
    other = Player(mail.database, cancelling(mail, event.id), holding=True)
    settler = Player(mail.database, SETTLES[verb][0](mail, event))
    settler.wait_until_blocked()
    settler.pass_time(11)
    other.roll_back()
    with pytest.raises(StaleClaim) as stale:
        settler.answer()
    assert stale.value.members == {"reason": "lease_expired", "current_generation": 1}
    assert mail.row(event.id) == before


def test_a_renewed_lease_is_not_ended_by_one_who_saw_the_old_end(
    mail: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The timers look without a lock, and look again under it."""
    event = claimed(mail, None)
    after = later(mail, 20)
    with stop_before(monkeypatch, timers, "_lock_due") as stop:
        scavenger = Player(after.database, scavenging(after))
        stop.wait_until_reached()
        mail.renew(event, lease_seconds=500)
        stop.let_go()
        assert scavenger.answer() == 0
    assert mail.gate(event.id) is Gate.CLAIMED
    assert mail.ack(event)["status"] == "completed"


def test_an_ack_between_look_and_lock_of_the_timers_stays(
    mail: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = claimed(mail, None)
    after = later(mail, 20)
    with stop_before(monkeypatch, timers, "_lock_due") as stop:
        scavenger = Player(after.database, scavenging(after))
        stop.wait_until_reached()
        mail.ack(event)
        stop.let_go()
        assert scavenger.answer() == 0
    assert mail.gate(event.id) is Gate.COMPLETED
