from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import select

from restante.errors import StaleClaim
from restante.inbox.lifecycle import Gate
from restante.storage.tables.events import event_content
from tests.engine.snapshot import only_changing, unchanged
from tests.factories import Mailbox, pass_time, set_rules


def test_a_renew_moves_the_end_of_the_lease_and_nothing_else(
    mail: Mailbox, gallery: dict[str, bytes]
) -> None:
    mail.publish()
    event = mail.take_one("p", lease_seconds=10)
    before = mail.row(event.id)
    pass_time(mail.database, 5)
    with only_changing(mail.database, event.id):
        told = mail.renew(event, lease_seconds=100)
    assert 99_000 <= told["lease_remaining_ms"] <= 100_000
    assert (told["cancel_requested"], told["deadline_passed"]) == (False, False)
    row = mail.row(event.id)
    assert row.claim_expires_at == row.due_at > before.claim_expires_at
    assert told["claim_expires_at"] == row.claim_expires_at.isoformat("T", "microseconds") + "Z"
    moved = {"claim_expires_at", "due_at"}
    same = set(row._mapping) - moved
    assert [row._mapping[c] for c in same] == [before._mapping[c] for c in same]
    pass_time(mail.database, 50)
    assert mail.take("p") == []
    assert mail.ack(event)["status"] == "completed"


def test_a_lease_may_be_shortened(mail: Mailbox) -> None:
    mail.publish(backoff=(0.0, 0.0))
    event = mail.take_one(lease_seconds=1000)
    mail.renew(event, lease_seconds=1)
    pass_time(mail.database, 1)
    assert mail.take_one().id == event.id


def test_without_a_length_it_is_the_settings(mail: Mailbox) -> None:
    set_rules(mail.database, lease_seconds=77)
    mail.publish()
    event = mail.take_one(lease_seconds=1000)
    assert 76_000 <= mail.renew(event)["lease_remaining_ms"] <= 77_000


def test_a_claim_lasts_a_day_at_most_in_all(mail: Mailbox) -> None:
    mail.publish()
    event = mail.take_one(lease_seconds=43_200)
    claimed_at = mail.row(event.id).claimed_at
    pass_time(mail.database, 43_000)
    mail.renew(event, lease_seconds=43_200)
    pass_time(mail.database, 43_000)
    told = mail.renew(event, lease_seconds=43_200)
    assert mail.row(event.id).claim_expires_at == claimed_at + timedelta(days=1)
    assert 390_000 <= told["lease_remaining_ms"] <= 400_000
    pass_time(mail.database, 401)
    with unchanged(mail.database), pytest.raises(StaleClaim):
        mail.renew(event, lease_seconds=60)


def test_progress_is_kept_and_overwritten(mail: Mailbox) -> None:
    mail.publish()
    event = mail.take_one()
    mail.renew(event, progress=b'{"done":1}')
    mail.renew(event, progress=b'{"done":2}')
    mail.renew(event)
    query = select(event_content.c.progress)
    assert mail.run(lambda s: s.connection().execute(query).scalar()) == b'{"done":2}'


def test_the_holder_learns_of_a_cancel_and_of_a_passed_deadline(mail: Mailbox) -> None:
    mail.publish(expires_in_seconds=30)
    event = mail.take_one()
    mail.cancel(event.id)
    assert mail.renew(event)["cancel_requested"] is True
    pass_time(mail.database, 31)
    told = mail.renew(event)
    assert (told["deadline_passed"], told["cancel_requested"]) == (True, True)
    assert mail.gate(event.id) is Gate.CLAIMED


def test_a_late_renew_does_not_bring_a_lease_back(mail: Mailbox) -> None:
    mail.publish(backoff=(0.0, 0.0))
    late = mail.take_one(lease_seconds=5)
    pass_time(mail.database, 5)
    with unchanged(mail.database), pytest.raises(StaleClaim) as stale:
        mail.renew(late)
    assert stale.value.members == {"reason": "lease_expired", "current_generation": 1}
    mail.take_one()
    with unchanged(mail.database), pytest.raises(StaleClaim) as stale:
        mail.renew(late, progress=b"{}")
    assert stale.value.members == {"reason": "reclaimed", "current_generation": 2}
