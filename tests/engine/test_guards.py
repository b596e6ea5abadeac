"""Verbs look without a lock and then lock: what has changed in between is seen under the lock.

The change is made in the same transaction, just before the lock; tests/races has it from another.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy.orm import Session

from restante.errors import EventFinal
from restante.inbox import cancel as cancel_module
from restante.inbox import commit as commit_module
from restante.inbox import ordering, quarantine, retention, timers
from restante.inbox.claim import ClaimRequest, claim
from restante.inbox.commit import commit_through
from restante.inbox.lifecycle import Gate
from restante.inbox.orders import Ack, Reject, Release, Renew
from restante.inbox.settle import settle_one
from restante.storage.clock import OFFSET
from tests.factories import Event, Mailbox, pass_time

Change = Callable[[Session], Any]


def just_before(patch: pytest.MonkeyPatch, owner: Any, name: str, change: Change) -> None:
    """Have the change made, once, before `owner.name` is called."""
    real, left = getattr(owner, name), [change]

    def call(session: Session, *args: Any, **named: Any) -> Any:
        if left:
            left.pop()(session)
        return real(session, *args, **named)

    patch.setattr(owner, name, call)


def just_after(patch: pytest.MonkeyPatch, owner: Any, name: str, change: Change) -> None:
    """Have the change made, once, after `owner.name` has answered."""
    real, left = getattr(owner, name), [change]

    def call(session: Session, *args: Any, **named: Any) -> Any:
        answer = real(session, *args, **named)
        if left:
            left.pop()(session)
        return answer

    patch.setattr(owner, name, call)


def test_timers_leave_a_lease_that_was_renewed_or_settled(
    mail: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    mail.publish_many(mail.publication() for _ in range(3))
    renewed, acked, released = mail.take(lease_seconds=60)
    earlier = mail.database.clock_offset

    def change(session: Session) -> None:
        session.info[OFFSET] = earlier
        settle_one(session, mail.agent, Renew(renewed.id, 1, 5000))
        settle_one(session, mail.agent, Ack(acked.id, 1))
        settle_one(session, mail.agent, Release(released.id, 1, 5000.0))

    just_before(monkeypatch, timers, "_lock_due", change)
    pass_time(mail.database, 100)
    assert mail.run_due() == 0
    gates = [mail.gate(e.id) for e in (renewed, acked, released)]
    assert gates == [Gate.CLAIMED, Gate.COMPLETED, Gate.DELAYED]
    assert mail.row(renewed.id).attempts == 1


def test_timers_leave_events_whose_key_somebody_holds(
    mail: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    mail.publish(ordering_key="k")
    mail.publish()
    keyed, plain = mail.take(lease_seconds=60)
    pass_time(mail.database, 100)
    monkeypatch.setattr(timers.ordering, "lock_keys", lambda *_, **__: {})
    assert mail.run_due() == 1
    assert mail.gate(keyed.id) is Gate.CLAIMED
    assert mail.gate(plain.id) is not Gate.CLAIMED


def test_a_cancel_finds_the_event_final(mail: Mailbox, monkeypatch: pytest.MonkeyPatch) -> None:
    mail.publish(ordering_key="k")
    event = mail.take_one()
    just_before(
        monkeypatch,
        ordering,
        "lock_keys",
        lambda session: settle_one(session, mail.agent, Ack(event.id, 1)),
    )
    with pytest.raises(EventFinal) as final:
        mail.cancel(event.id)
    assert final.value.members == {"event_status": "completed"}


def test_a_cancel_finds_the_event_archived(mail: Mailbox, monkeypatch: pytest.MonkeyPatch) -> None:
    event = mail.publish(ordering_key="k").event_id
    pass_time(mail.database, days=31)

    def eat(session: Session) -> None:
        retention.raise_floor(session, mail.id)
        retention.archive(session, mail.id)

    just_before(monkeypatch, cancel_module, "check_visible", eat)
    with pytest.raises(EventFinal):
        mail.cancel(event)


def test_a_cancel_finds_the_scheduled_event_in_the_inbox(
    mail: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = mail.publish(delay_seconds=5).event_id
    pass_time(mail.database, 6)
    just_before(monkeypatch, cancel_module, "check_visible", lambda s: timers.run_due(s, mail.id))
    assert mail.cancel(event) == "cancelled"
    assert (mail.gate(event), mail.inbox_row().head) == (Gate.CANCELLED, 1)


def test_a_commit_passes_over_what_was_claimed_and_given_back(
    mail: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = mail.publish_many(mail.publication() for _ in range(5))
    projects = tuple(mail.tenant.projects.values())

    def change(session: Session) -> None:
        taken = claim(session, mail.agent, ClaimRequest(projects=projects, limit=3))
        held, given, done = map(Event.of, taken.events)
        settle_one(session, mail.agent, Release(given.id, 1))
        settle_one(session, mail.agent, Ack(done.id, 1, b'{"r":1}'))
        cancel_module.cancel(session, mail.tenant.service, made[3].event_id, "no longer")
        assert held

    just_after(monkeypatch, commit_module, "_candidates", change)
    done = mail.run(lambda s: commit_through(s, mail.agent, 5, None))
    assert done == (1, False)
    ids = [Event.of(text).id for text in mail.page().events]
    gates = [mail.gate(event) for event in ids]
    ends = [Gate.COMPLETED, Gate.CANCELLED, Gate.COMPLETED]
    assert gates == [Gate.CLAIMED, Gate.CLAIMABLE, *ends]
    assert mail.read(ids[2])["result"] == {"r": 1}


def test_a_commit_does_not_complete_what_expired_while_it_looked(
    mail: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = mail.publish(expires_in_seconds=60).event_id

    def wait(session: Session) -> None:
        session.info[OFFSET] = mail.database.clock_offset + timedelta(hours=1)

    just_after(monkeypatch, commit_module, "_candidates", wait)
    assert mail.run(lambda s: commit_through(s, mail.agent, 1, None)) == (0, False)
    assert mail.gate(event) is Gate.CLAIMABLE


def test_a_redrive_finds_it_gone_from_quarantine(
    mail: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    mail.publish(ordering_key="k")
    event = mail.take_one()
    mail.reject(event)
    just_before(
        monkeypatch,
        ordering,
        "lock_keys",
        lambda s: quarantine.discard(s, mail.tenant.id, event.id, actor="x", reason="y"),
    )
    with pytest.raises(quarantine.NotQuarantined):
        mail.redrive(event.id)


def test_an_archive_leaves_what_was_claimed_or_redriven_meanwhile(
    mail: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = [mail.publish(ordering_key=f"{n}").event_id for n in range(3)]
    pass_time(mail.database, days=31)
    mail.run(lambda s: retention.raise_floor(s, mail.id))
    projects = tuple(mail.tenant.projects.values())

    def change(session: Session) -> None:
        first, second = map(
            Event.of,
            claim(session, mail.agent, ClaimRequest(projects=projects, limit=2)).events,
        )
        settle_one(session, mail.agent, Reject(second.id, 1, "never"))
        quarantine.redrive(session, mail.tenant.id, second.id, actor="x", reason="y")
        assert first

    just_before(monkeypatch, ordering, "lock_keys", change)
    assert mail.run(lambda s: retention.archive(s, mail.id)) == 1
    assert [mail.gate(e) for e in events] == [Gate.CLAIMED, Gate.CLAIMABLE, None]
    assert mail.run(lambda s: retention.archive(s, mail.id)) == 0
