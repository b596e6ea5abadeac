"""Whoever looks first keeps the books: lease ends, delays, expiries, scheduled events (rule 3)."""

from __future__ import annotations

from datetime import timedelta

import orjson
import pytest

from restante.inbox.lifecycle import Gate
from restante.inbox.stats import stats
from restante.inbox.timers import due_inboxes, oldest_due
from restante.storage.clock import database_now
from tests.engine.gallery import FAR
from tests.engine.snapshot import only_changing, unchanged
from tests.factories import Mailbox, Tenant, pass_time


def test_nothing_that_is_not_due_moves(mail: Mailbox, gallery: dict[str, bytes]) -> None:
    with unchanged(mail.database):
        assert mail.run_due() == 0
        assert mail.run(lambda s: due_inboxes(s, limit=9)) == []
        assert mail.run(oldest_due) is None


def test_everything_that_is_due_moves(mail: Mailbox, gallery: dict[str, bytes]) -> None:
    due = ("delayed", "claimed", "asked", "scheduled")
    pass_time(mail.database, FAR + 2000)
    assert mail.run(lambda s: due_inboxes(s, limit=9)) == [mail.id]
    with only_changing(mail.database, *(gallery[name] for name in due)):
        mail.run_due()
    assert {name: mail.gate(gallery[name]) for name in due} == {
        "delayed": Gate.CLAIMABLE,
        "claimed": Gate.CLAIMABLE,
        "asked": Gate.CANCELLED,
        "scheduled": Gate.CLAIMABLE,
    }
    assert mail.gate(gallery["waiting"]) is Gate.WAITING


def test_a_lease_end_is_a_failed_attempt(mail: Mailbox) -> None:
    mail.publish(max_attempts=2, backoff=(0.0, 0.0))
    event = mail.take_one(lease_seconds=5, consumer="laptop")
    pass_time(mail.database, 5)
    assert mail.run_due() == 1
    read = mail.read(event.id)
    assert (read["status"], read["attempts"]) == ("pending", 1)
    assert read["last_error"]["code"] == "lease_expired"
    ((kind, consumer),) = ((e["kind"], e["consumer"]) for e in read["timeline"])
    assert (kind, consumer) == ("lease_expired", "laptop")
    mail.take_one(lease_seconds=5)
    pass_time(mail.database, 5)
    mail.run_due()
    read = mail.read(event.id)
    assert (read["status"], read["attempts"]) == ("quarantined", 2)
    assert read["last_error"]["quarantine_reason"] == "attempts_exhausted"


def test_the_backoff_counts_from_the_end_of_the_lease(
    mail: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("restante.inbox.ending.random.random", lambda: 1.0)
    mail.publish(backoff=(20.0, 20.0))
    event = mail.take_one(lease_seconds=5)
    ended = mail.row(event.id).claim_expires_at
    pass_time(mail.database, 15)
    mail.run_due()
    row = mail.row(event.id)
    assert (row.gate, row.not_before) == (Gate.DELAYED, ended + timedelta(seconds=20))


def test_a_lease_end_after_the_expiry_is_expired(mail: Mailbox) -> None:
    mail.publish(expires_in_seconds=5)
    event = mail.take_one(lease_seconds=60)
    pass_time(mail.database, 30)
    assert mail.run_due() == 0
    pass_time(mail.database, 30)
    mail.run_due()
    assert mail.gate(event.id) is Gate.EXPIRED


def test_a_lease_end_with_attempts_used_up_is_quarantine_even_after_the_expiry(
    mail: Mailbox,
) -> None:
    mail.publish(expires_in_seconds=5, max_attempts=1)
    event = mail.take_one(lease_seconds=60)
    pass_time(mail.database, 61)
    mail.run_due()
    assert mail.gate(event.id) is Gate.QUARANTINED


def test_a_claimed_event_does_not_expire_while_it_is_held(mail: Mailbox) -> None:
    mail.publish(expires_in_seconds=5)
    event = mail.take_one(lease_seconds=60)
    pass_time(mail.database, 59)
    with unchanged(mail.database):
        mail.run_due()
    assert mail.ack(event)["status"] == "completed"


@pytest.mark.parametrize("look", ["claim", "page", "stats", "read_event"])
def test_whoever_looks_runs_what_is_due(mail: Mailbox, look: str) -> None:
    scheduled = mail.publish(delay_seconds=5).event_id
    expiring = mail.publish(expires_in_seconds=3).event_id
    event = mail.publish(backoff=(0.0, 0.0)).event_id
    mail.publish(expires_in_seconds=90)
    mail.ack(mail.take(limit=9, lease_seconds=5)[-1])
    assert (mail.gate(expiring), mail.gate(event)) == (Gate.CLAIMED, Gate.CLAIMED)
    pass_time(mail.database, 5)
    match look:
        case "claim":
            assert [e.id for e in mail.take()] == [event, scheduled]
        case "page":
            assert mail.page().claimable == 2
        case "stats":
            told = mail.run(lambda s: stats(s, mail.agent))
            assert (told["claimable"], told["scheduled"], told["claimed"]) == (2, 0, 0)
        case "read_event":
            assert mail.read(scheduled)["sequence_number"] == 4
    assert mail.gate(expiring) is Gate.EXPIRED


def test_events_due_together_are_numbered_by_their_time_then_their_id(mail: Mailbox) -> None:
    now = mail.run(database_now)
    later, sooner = now + timedelta(seconds=50), now + timedelta(seconds=40)
    made = mail.publish_many(
        mail.publication(available_at=at) for at in (later, sooner, later, sooner)
    )
    pass_time(mail.database, 60)
    assert mail.run_due() == 4
    numbers = [mail.row(p.event_id).sequence_number for p in made]
    assert numbers == [3, 1, 4, 2]
    told = [orjson.loads(text)["event_id"][4:] for text in mail.page().events]
    assert told == [made[i].event_id.hex() for i in (1, 3, 0, 2)]


def test_a_scheduled_event_that_expired_unseen_is_never_claimable(mail: Mailbox) -> None:
    event = mail.publish(delay_seconds=5, expires_in_seconds=5).event_id
    pass_time(mail.database, 60)
    assert mail.take() == []
    assert mail.gate(event) is Gate.EXPIRED


def test_many_timers_run_in_one_look(mail: Mailbox) -> None:
    mail.publish_many(mail.publication(expires_in_seconds=5) for _ in range(900))
    fresh = mail.publish().event_id
    pass_time(mail.database, 6)
    assert [e.id for e in mail.take(limit=5)] == [fresh]


def test_the_maintainer_finds_inboxes_that_nobody_looks_at(mail: Mailbox, tenant: Tenant) -> None:
    others = [tenant.agent() for _ in range(4)]
    began = mail.run(database_now)
    for number, other in enumerate([mail, *others]):
        other.publish(delay_seconds=10 + number)
    busy = others[0]
    busy.publish_many(busy.publication(expires_in_seconds=1) for _ in range(300))
    pass_time(mail.database, 12.5)
    due = sorted([mail.id, others[0].id, others[1].id])
    assert mail.run(lambda s: due_inboxes(s, limit=9)) == due
    assert mail.run(lambda s: due_inboxes(s, limit=9, after=due[0])) == due[1:]
    oldest = mail.run(oldest_due)
    assert timedelta(0) < oldest - began < timedelta(seconds=10)


def test_one_inbox_with_very_much_due_does_not_hide_the_others(
    mail: Mailbox, tenant: Tenant
) -> None:
    """The maintainer promises two seconds to everybody."""
    other = tenant.agent()
    mail.publish_many(mail.publication(expires_in_seconds=1) for _ in range(300))
    other.publish(expires_in_seconds=2)
    pass_time(mail.database, 5)
    assert mail.run(lambda s: due_inboxes(s, limit=10)) == sorted([mail.id, other.id])


def test_a_delay_ends_before_the_expiry(mail: Mailbox) -> None:
    event = mail.publish(expires_in_seconds=500).event_id
    mail.release(mail.take_one(), delay=5)
    pass_time(mail.database, 5)
    mail.run_due()
    row = mail.row(event)
    assert (row.gate, row.not_before) == (Gate.CLAIMABLE, None)
    assert row.due_at == row.expires_at


def test_an_expired_event_tells_why(mail: Mailbox) -> None:
    late, old = mail.publish(expires_in_seconds=5).event_id, mail.publish().event_id
    pass_time(mail.database, 6)
    unseen = mail.read(late)["timeline"]
    mail.run_due()
    (entry,) = mail.read(late)["timeline"]
    assert (entry["kind"], entry["reason"]) == ("expired", "expires_at")
    assert [told["kind"] for told in unseen] == ["expired"]
    pass_time(mail.database, days=31)
    mail.retain()
    assert mail.read(late)["timeline"] == [entry]
    assert [told["reason"] for told in mail.read(old)["timeline"]] == ["retention"]
