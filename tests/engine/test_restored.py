"""After a restored backup nothing of the lost time holds any more (contract section 8)."""

from __future__ import annotations

import pytest

from restante.errors import CursorGone, StaleClaim
from restante.inbox.lifecycle import Gate
from restante.inbox.restored import LEAP, forget_streams, restore_inboxes
from restante.inbox.retention import ripe_inboxes
from restante.storage.tables.inboxes import ordering_key
from restante.storage.tables.signals import wake
from tests.engine.snapshot import unchanged
from tests.factories import Mailbox, Tenant, pass_time, set_rules


def restore(mail: Mailbox) -> int:
    """As `restante db restored` does it; how many inboxes."""
    last: bytes | None = b""
    number = 0
    while last is not None:
        after = last
        last, more = mail.run(lambda session, after=after: restore_inboxes(session, after))
        number += more
    mail.run(forget_streams)
    return number


def test_every_inbox_begins_a_new_epoch_far_ahead(tenant: Tenant) -> None:
    mails = [tenant.agent() for _ in range(3)]
    for mail in mails[:2]:
        mail.publish()
    before = [mail.inbox_row() for mail in mails]
    assert restore(mails[0]) == 3
    for mail, old in zip(mails, before, strict=True):
        row = mail.inbox_row()
        assert row.epoch != old.epoch
        assert row.head == row.oldest_cursor == old.head + LEAP
        assert mail.publish().sequence_number == old.head + LEAP + 1


def test_an_old_cursor_is_refused_without_its_epoch_too(mail: Mailbox) -> None:
    mail.publish()
    mail.publish()
    old = mail.page().next_cursor
    restore(mail)
    with pytest.raises(CursorGone):
        mail.page(after_cursor=old)
    with pytest.raises(CursorGone):
        mail.page(after_cursor=0)
    # of the lost time: the server had given it out, this database never knew
    with pytest.raises(CursorGone):
        mail.page(after_cursor=old + 40)
    row = mail.inbox_row()
    assert mail.page(after_cursor=row.head).events == []


def test_no_claim_of_before_or_of_the_lost_time_can_settle(mail: Mailbox) -> None:
    mail.publish()
    mail.publish()
    held = mail.take_one()
    never = mail.page().events
    assert len(never) == 2
    restore(mail)
    with pytest.raises(StaleClaim):
        mail.ack(held)
    pass_time(mail.database, 3600)
    again = mail.take(limit=10)
    assert {event.generation > LEAP for event in again} == {True}
    for event in again:
        mail.ack(event)


def test_leases_end_and_their_events_come_back(mail: Mailbox) -> None:
    event = mail.publish()
    mail.take_one()
    restore(mail)
    mail.run_due()
    assert mail.gate(event.event_id) in (Gate.DELAYED, Gate.CLAIMABLE)


def test_unsettled_mail_is_still_there_and_claimable(mail: Mailbox) -> None:
    published = [mail.publish().event_id for _ in range(3)]
    restore(mail)
    assert [event.id for event in mail.take(limit=10)] == published


def test_retention_leaves_young_mail_alone_though_it_is_below_the_floor_now(mail: Mailbox) -> None:
    done = mail.publish().event_id
    mail.ack(mail.take_one())
    waiting = mail.publish().event_id
    restore(mail)
    with unchanged(mail.database):
        assert mail.run(lambda session: ripe_inboxes(session, [mail.id])) == []
        assert mail.retain() == 0
    pass_time(mail.database, days=29)
    assert mail.retain() == 0
    pass_time(mail.database, days=2)
    assert mail.run(lambda session: ripe_inboxes(session, [mail.id])) == [mail.id]
    assert mail.retain() == 2
    assert [mail.read(event)["status"] for event in (done, waiting)] == ["completed", "expired"]


def test_keep_keeps_what_a_restore_put_below_the_floor(mail: Mailbox) -> None:
    set_rules(mail.database, retention_keeps_unsettled=True)
    mail.publish()
    mail.ack(mail.take_one())
    waiting = mail.publish().event_id
    restore(mail)
    pass_time(mail.database, days=400)
    assert mail.retain() == 1
    assert mail.take_one().id == waiting


def test_what_was_final_stays_so_and_a_repeated_ack_knows_it(mail: Mailbox) -> None:
    published = mail.publish()
    held = mail.take_one()
    first = mail.ack(held)
    restore(mail)
    assert mail.gate(published.event_id) is Gate.COMPLETED
    assert mail.ack(held)["completed_at"] == first["completed_at"]


def test_fences_go_on_far_above_those_of_the_lost_time(mail: Mailbox) -> None:
    mail.publish(ordering_key="k")
    mail.publish(ordering_key="k")
    mail.publish(ordering_key="other")
    first = mail.take_one()
    before = first.told["fence"]
    restore(mail)
    mail.run_due()
    pass_time(mail.database, 3600)
    fences = []
    for _ in range(3):
        event = mail.take_one()
        fences.append(event.told["fence"])
        mail.ack(event)
    assert min(fences) >= before + LEAP
    with mail.database.engine.connect() as connection:
        keys = connection.execute(ordering_key.select()).all()
    assert all(key.fence >= LEAP for key in keys)


def test_quarantine_survives_and_its_generation_leaps(mail: Mailbox) -> None:
    published = mail.publish()
    held = mail.take_one()
    mail.reject(held)
    restore(mail)
    assert mail.gate(published.event_id) is Gate.QUARANTINED
    mail.redrive(published.event_id)
    assert mail.take_one().generation > LEAP


def test_rings_of_the_other_time_are_dropped(mail: Mailbox) -> None:
    mail.publish()
    restore(mail)
    with mail.database.engine.connect() as connection:
        assert connection.execute(wake.select()).all() == []


def test_a_second_run_leaps_once_more(mail: Mailbox) -> None:
    mail.publish()
    restore(mail)
    restore(mail)
    assert mail.inbox_row().head == 1 + 2 * LEAP
    assert len(mail.take(limit=10)) == 1
