"""`restante db restored`: no number of the lost time is given out a second time (contract section 8)."""

from __future__ import annotations

import pytest

from restante.errors import CursorGone, StaleClaim
from restante.inbox.lifecycle import Gate
from restante.inbox.restored import LEAP, restore_inboxes
from tests.factories import Mailbox, Tenant, pass_time, set_rules


def restore(mail: Mailbox) -> int:
    done, after = 0, b""
    while True:
        last, number = mail.run(lambda s, a=after: restore_inboxes(s, a))
        done += number
        if last is None:
            return done
        after = last


def test_old_cursors_claims_and_fences_are_refused(mail: Mailbox, tenant: Tenant) -> None:
    tenant.agent()
    mail.publish(ordering_key="k", backoff=(0.0, 0.0))
    mail.publish(ordering_key="k")
    done = mail.publish().event_id
    held = mail.take(limit=2)
    mail.ack(held[1])
    epoch = mail.inbox_row().epoch
    assert restore(mail) == 2
    row = mail.inbox_row()
    assert (row.head, row.oldest_cursor) == (3 + LEAP, 3 + LEAP)
    assert row.epoch != epoch
    for cursor in (0, 3, 4):
        with pytest.raises(CursorGone):
            mail.page(after_cursor=cursor)
    with pytest.raises(CursorGone) as gone:
        mail.page(after_cursor=3 + LEAP, epoch=epoch.hex())
    assert gone.value.members["reason"] == "epoch"
    with pytest.raises(StaleClaim):
        mail.ack(held[0])
    assert mail.publish().sequence_number == 4 + LEAP
    pass_time(mail.database, 1)
    again = next(e for e in mail.take() if e.id == held[0].id)
    assert again.generation == 2 + LEAP
    assert again.told["fence"] > held[0].told["fence"] + LEAP // 2
    mail.ack(again)
    head = mail.take_one()
    assert head.told["fence"] > again.told["fence"]
    assert mail.gate(done) is Gate.COMPLETED


def test_what_is_pending_is_still_claimed_below_the_floor(mail: Mailbox) -> None:
    event = mail.publish().event_id
    restore(mail)
    assert mail.page().events == []
    assert mail.take_one().id == event


def test_retention_leaves_young_mail_below_the_new_floor_alone(mail: Mailbox) -> None:
    """After the restore everything lies below the floor."""
    pending = mail.publish().event_id
    done = mail.publish(priority=1).event_id
    mail.ack(mail.take_one())
    restore(mail)
    assert mail.retain() == 0
    pass_time(mail.database, days=31)
    set_rules(mail.database, retention_keeps_unsettled=True)
    assert mail.retain() == 1
    assert (mail.gate(pending), mail.row(done)) == (Gate.CLAIMABLE, None)
    set_rules(mail.database, retention_keeps_unsettled=False)
    assert mail.retain() == 1
