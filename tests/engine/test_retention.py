"""Rule 10: the log is eaten from the front, into the archive."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from restante.inbox import retention
from restante.inbox.lifecycle import Gate
from restante.inbox.retention import (
    aged_inboxes,
    archive,
    prune_scheduled,
    raise_floor,
    ripe_inboxes,
)
from restante.storage.ids import new_id
from restante.storage.tables.events import archived_event, event_content
from tests.engine.snapshot import only_changing, unchanged
from tests.factories import Mailbox, Tenant, pass_time, set_rules


def archived(mail: Mailbox) -> dict[bytes, object]:
    rows = mail.run(lambda s: s.connection().execute(select(archived_event)).all())
    return {row.event_id: row for row in rows}


def floor(mail: Mailbox) -> int:
    return mail.inbox_row().oldest_cursor


def test_what_is_young_stays(mail: Mailbox, gallery: dict[str, bytes]) -> None:
    with unchanged(mail.database):
        assert mail.retain() == 0


def test_every_kind_of_old_event(mail: Mailbox) -> None:
    kept = mail.publish().event_id
    mail.reject(mail.take_one())
    done = mail.publish(correlation_id="c").event_id
    mail.ack(mail.take_one(), b'{"r":1}')
    cancelled = mail.publish().event_id
    mail.cancel(cancelled)
    delayed = mail.publish().event_id
    mail.release(mail.take_one(), delay=10_000_000)
    head = mail.publish(ordering_key="k").event_id
    waiting = mail.publish(ordering_key="k").event_id
    pass_time(mail.database, days=29.9)
    fresh = mail.publish(ordering_key="k").event_id
    pass_time(mail.database, days=0.2)
    with only_changing(mail.database, done, cancelled, delayed, head, waiting, fresh):
        assert mail.retain() == 5
    rows = archived(mail)
    assert {e: (rows[e].gate, rows[e].reason) for e in rows} == {
        done: (Gate.COMPLETED, None),
        cancelled: (Gate.CANCELLED, None),
        delayed: (Gate.EXPIRED, "retention"),
        head: (Gate.EXPIRED, "retention"),
        waiting: (Gate.EXPIRED, "retention"),
    }
    assert [rows[e].payload is None for e in (done, cancelled, delayed, head)] == [
        True,
        True,
        False,
        False,
    ]
    assert (rows[done].result, rows[done].claim_generation) == (b'{"r":1}', 1)
    assert (floor(mail), mail.gate(kept)) == (6, Gate.QUARANTINED)
    assert mail.take_one().id == fresh
    numbers = select(event_content.c.sequence_number).order_by(event_content.c.sequence_number)
    assert mail.run(lambda s: s.connection().execute(numbers).scalars().all()) == [1, 7]


def test_an_archived_event_is_still_read(mail: Mailbox) -> None:
    done = mail.publish().event_id
    mail.ack(mail.take_one(), b'{"r":1}')
    waiting = mail.publish(payload=b'{"x":1}').event_id
    pass_time(mail.database, days=31)
    mail.retain()
    told = mail.read(done)
    assert (told["status"], told["result"], told["payload"]) == ("completed", {"r": 1}, None)
    told = mail.read(waiting)
    assert (told["status"], told["payload"], told["sequence_number"]) == ("expired", {"x": 1}, 2)


def test_a_live_lease_stops_it_and_a_young_one_too(mail: Mailbox) -> None:
    first = mail.publish(priority=-1).event_id
    mail.publish(priority=1)
    pass_time(mail.database, days=31)
    held = mail.take_one(lease_seconds=500)
    young = mail.publish().event_id
    assert (mail.retain(), floor(mail)) == (1, 1)
    assert archived(mail).keys() == {first}
    mail.ack(held)
    assert (mail.retain(), floor(mail)) == (1, 2)
    assert mail.gate(young) is Gate.CLAIMABLE


def test_keep_stops_at_the_first_unsettled(mail: Mailbox) -> None:
    set_rules(mail.database, retention_keeps_unsettled=True)
    mail.publish()
    mail.ack(mail.take_one())
    mail.publish()
    mail.reject(mail.take_one())
    pending = mail.publish().event_id
    later = mail.publish().event_id
    mail.cancel(later)
    pass_time(mail.database, days=400)
    assert (mail.retain(), floor(mail)) == (1, 2)
    assert mail.gate(pending) is Gate.CLAIMABLE
    mail.ack(mail.take_one())
    assert (mail.retain(), floor(mail)) == (2, 4)


def test_the_days_are_a_setting(mail: Mailbox) -> None:
    set_rules(mail.database, retention_seconds=0.5 * 86_400)
    mail.publish()
    pass_time(mail.database, days=0.49)
    assert mail.retain() == 0
    pass_time(mail.database, days=0.02)
    assert mail.retain() == 1


def test_batches_are_bounded_and_the_floor_comes_first(
    mail: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "BATCH", 10)
    mail.publish_many(mail.publication() for _ in range(25))
    pass_time(mail.database, days=31)
    steps = []
    for _ in range(3):
        steps.append((mail.run(lambda s: raise_floor(s, mail.id)), len(archived(mail))))
        assert mail.run(lambda s: archive(s, mail.id)) <= 10
    assert steps == [(10, 0), (20, 10), (25, 20)]
    assert len(archived(mail)) == 25


def test_a_redriven_event_below_the_floor_is_mail_until_it_is_final(mail: Mailbox) -> None:
    poison = mail.publish().event_id
    mail.reject(mail.take_one())
    pass_time(mail.database, days=31)
    mail.publish()
    mail.retain()
    assert floor(mail) == 1
    mail.redrive(poison)
    assert mail.retain() == 0
    event = mail.take_one()
    mail.release(event)
    assert mail.retain() == 0
    mail.ack(mail.take_one())
    assert mail.retain() == 1
    assert archived(mail)[poison].redriven


def test_a_discarded_event_below_the_floor_goes(mail: Mailbox) -> None:
    poison = mail.publish().event_id
    mail.reject(mail.take_one())
    pass_time(mail.database, days=31)
    assert (mail.retain(), floor(mail)) == (0, 1)
    mail.discard(poison)
    assert mail.retain() == 1


def test_cancelled_before_they_were_due(mail: Mailbox) -> None:
    event = mail.publish(delay_seconds=5000).event_id
    waits = mail.publish(delay_seconds=50 * 86_400).event_id
    mail.cancel(event)
    assert mail.run(prune_scheduled) == 0
    pass_time(mail.database, days=31)
    with only_changing(mail.database, event):
        assert mail.run(prune_scheduled) == 1
    assert mail.read(event)["status"] == "cancelled"
    assert mail.gate(waits) is Gate.SCHEDULED


def test_all_inboxes_are_gone_round(mail: Mailbox, tenant: Tenant) -> None:
    boxes = sorted([mail, tenant.agent(), tenant.agent()], key=lambda box: box.id)
    for box in boxes:
        box.publish()
    tenant.agent()
    ids = [box.id for box in boxes]
    assert mail.run(lambda s: aged_inboxes(s, after=b"", limit=2)) == ids[:2]
    assert mail.run(lambda s: aged_inboxes(s, after=ids[1], limit=2)) == ids[2:]
    pass_time(mail.database, days=31)
    assert sorted(mail.run(lambda s: ripe_inboxes(s, [*ids, new_id()]))) == ids
    boxes[0].retain()
    assert sorted(mail.run(lambda s: ripe_inboxes(s, ids))) == ids[1:]
    assert mail.run(lambda s: raise_floor(s, new_id())) is None
    assert [floor(box) for box in boxes] == [1, 0, 0]
