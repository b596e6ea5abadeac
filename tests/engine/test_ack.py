from __future__ import annotations

import pytest
from sqlalchemy import select

from restante.errors import NotFound, StaleClaim
from restante.inbox.commit import commit_through
from restante.inbox.lifecycle import Gate
from restante.inbox.orders import Ack
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, encode_id, new_id
from restante.storage.tables.events import event_content
from restante.storage.tables.failures import event_failure, event_history
from tests.engine.snapshot import only_changing, unchanged
from tests.factories import Event, Mailbox, Tenant, pass_time


def test_an_ack_completes_the_event(mail: Mailbox, gallery: dict[str, bytes]) -> None:
    mail.publish()
    event = mail.take_one("p")
    before = mail.run(database_now)
    with only_changing(mail.database, event.id):
        told = mail.ack(event, b'{"r": 1}')
    row = mail.row(event.id)
    assert (row.gate, row.claim_expires_at, row.consumer, row.due_at) == (6, None, None, None)
    assert row.claim_generation == 1
    assert row.final_at >= before
    assert told == {
        "event_id": encode_id(Prefix.EVENT, event.id),
        "status": "completed",
        "completed_at": row.final_at.isoformat(timespec="microseconds") + "Z",
    }
    read = mail.read(event.id)
    assert (read["status"], read["payload"], read["result"]) == ("completed", None, {"r": 1})


def test_the_payload_is_dropped_and_the_plain_path_leaves_no_history(mail: Mailbox) -> None:
    mail.publish()
    mail.publish()
    one, two = mail.take()
    mail.ack(one)
    mail.ack(two, b"{}")
    query = select(event_content.c.payload, event_content.c.result)
    rows = mail.run(lambda s: s.connection().execute(query).all())
    assert sorted(rows, key=lambda row: row.result or b"") == [(None, None), (None, b"{}")]
    for table in (event_history, event_failure):
        assert mail.run(lambda s, t=table: s.connection().execute(select(t)).all()) == []


def test_the_same_ack_again_is_answered_with_the_first_outcome(mail: Mailbox) -> None:
    mail.publish()
    event = mail.take_one()
    first = mail.ack(event, b'{"r":1}')
    pass_time(mail.database, 100)
    with unchanged(mail.database):
        assert mail.ack(event, b'{"another":2}') == first
    pass_time(mail.database, days=31)
    assert mail.retain() == 1
    assert mail.row(event.id) is None
    with unchanged(mail.database):
        assert mail.ack(event) == first
    assert mail.read(event.id)["result"] == {"r": 1}


def refused(mail: Mailbox, event: Event, generation: int | None = None) -> tuple[str, int]:
    """The reason and the current generation of the refusal, which changed nothing."""
    order = Ack(event.id, event.generation if generation is None else generation)
    with unchanged(mail.database), pytest.raises(StaleClaim) as stale:
        mail.order(order)
    return stale.value.members["reason"], stale.value.members["current_generation"]


def test_why_a_claim_does_not_hold(mail: Mailbox) -> None:
    mail.publish(backoff=(0.0, 0.0), max_attempts=3)
    first = mail.take_one(lease_seconds=10)
    assert refused(mail, first, 2) == ("never_claimed", 1)
    assert refused(mail, first, 0) == ("never_claimed", 1)
    pass_time(mail.database, 10)
    assert refused(mail, first) == ("lease_expired", 1)
    mail.run_due()
    assert mail.gate(first.id) is Gate.CLAIMABLE
    assert refused(mail, first) == ("lease_expired", 1)
    second = mail.take_one()
    assert refused(mail, first) == ("reclaimed", 2)
    mail.release(second)
    assert refused(mail, first) == ("reclaimed", 2)
    assert refused(mail, second) == ("released", 2)
    third = mail.take_one()
    mail.fail(third)
    assert refused(mail, third) == ("released", 3)
    fourth = mail.take_one()
    mail.reject(fourth)
    assert refused(mail, fourth) == refused(mail, first) == ("quarantined", 4)
    mail.redrive(fourth.id)
    assert refused(mail, fourth) == ("released", 4)
    fifth = mail.take_one()
    mail.ack(fifth)
    assert refused(mail, fourth) == ("completed", 5)


def test_a_redriven_event_whose_lease_had_ended_was_not_given_back(mail: Mailbox) -> None:
    mail.publish(max_attempts=1)
    event = mail.take_one(lease_seconds=5)
    pass_time(mail.database, 6)
    mail.run_due()
    assert mail.gate(event.id) is Gate.QUARANTINED
    mail.redrive(event.id)
    assert refused(mail, event) == ("lease_expired", 1)


def test_the_end_of_an_event_is_the_reason_whatever_the_generation(mail: Mailbox) -> None:
    cancelled = mail.publish().event_id
    mail.cancel(cancelled)
    expired = mail.publish(expires_in_seconds=1).event_id
    pass_time(mail.database, 2)
    mail.run_due()
    scheduled = mail.publish(delay_seconds=90).event_id
    unscheduled = mail.publish(delay_seconds=90).event_id
    mail.cancel(unscheduled)
    reasons = [refused(mail, Event(e, 1, {})) for e in (cancelled, expired, scheduled, unscheduled)]
    assert [r for r, _ in reasons] == ["cancelled", "expired", "never_claimed", "cancelled"]
    pass_time(mail.database, days=31)
    mail.retain()
    assert refused(mail, Event(cancelled, 1, {})) == ("cancelled", 0)
    assert refused(mail, Event(expired, 1, {})) == ("expired", 0)


def test_a_holder_may_finish_after_the_event_has_expired(mail: Mailbox) -> None:
    mail.publish(expires_in_seconds=5)
    event = mail.take_one(lease_seconds=60)
    pass_time(mail.database, 30)
    assert mail.ack(event)["status"] == "completed"


def test_ack_wins_over_a_requested_cancel(mail: Mailbox) -> None:
    mail.publish()
    event = mail.take_one()
    assert mail.cancel(event.id) == "cancel_requested"
    told = mail.ack(event)
    assert (told["status"], told["cancel_requested"]) == ("completed", True)
    assert mail.ack(event) == told


def test_what_a_commit_completed_no_generation_did(mail: Mailbox) -> None:
    event = mail.publish().event_id
    mail.run(lambda s: commit_through(s, mail.agent, 1, None))
    for generation in (0, 1):
        assert refused(mail, Event(event, generation, {})) == ("completed", 0)


def test_what_is_not_the_agents_is_not_there(mail: Mailbox, tenant: Tenant) -> None:
    """Another's event, an unknown id and a project that is not covered answer alike."""
    other = tenant.agent()
    other.publish()
    theirs = other.take_one()
    mail.publish(project="q")
    mine = mail.take_one()
    theirs_scheduled = other.publish(delay_seconds=6_000_000).event_id
    mine_scheduled = mail.publish(project="q", delay_seconds=6_000_000).event_id
    nowhere = Event(new_id(), 1, {})
    for holder, event in (
        (mail, theirs),
        (mail, nowhere),
        (mail, Event(theirs_scheduled, 1, {})),
        (mail.only("p"), mine),
        (mail.only("p"), Event(mine_scheduled, 1, {})),
    ):
        with unchanged(mail.database), pytest.raises(NotFound):
            holder.ack(event)
    mail.ack(mine)
    other.ack(theirs)
    pass_time(mail.database, days=31)
    assert mail.retain() == other.retain() == 1
    for holder, event in ((mail.only("p"), mine), (mail, theirs)):
        with pytest.raises(NotFound):
            holder.ack(event)
    assert mail.ack(mine)["status"] == "completed"
