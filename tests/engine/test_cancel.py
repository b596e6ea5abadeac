from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import select

from restante.errors import EventFinal, InsufficientScope, NotFound
from restante.identity.principal import PrincipalKind
from restante.identity.scopes import ProjectScope, TenantScope, Verb
from restante.inbox.cancel import withdraw
from restante.inbox.lifecycle import Gate
from restante.storage.ids import new_id
from restante.storage.tables.failures import event_failure
from tests.engine.snapshot import only_changing, unchanged
from tests.factories import Mailbox, Tenant, make_tenant, pass_time


@pytest.mark.parametrize("state", ["pending", "delayed", "waiting", "quarantined", "scheduled"])
def test_what_has_not_started_is_cancelled(
    mail: Mailbox, gallery: dict[str, bytes], state: str
) -> None:
    event = gallery[state]
    payload = None if state == "quarantined" else mail.read(event)["payload"]
    with only_changing(mail.database, event):
        assert mail.cancel(event, "wrong address") == "cancelled"
    assert mail.gate(event) is Gate.CANCELLED
    read = mail.read(event)
    assert read["status"] == "cancelled"
    assert read["payload"] == (payload or {"a": 1, "b": "é"})
    entry = read["timeline"][-1]
    assert (entry["kind"], entry["reason"]) == ("cancelled", "wrong address")
    assert entry["actor"] == mail.tenant.service.public_id
    pass_time(mail.database, 60_000)
    mail.run_due()
    assert event not in [e.id for e in mail.take("q")]


def test_a_claimed_event_is_only_asked_for(mail: Mailbox, gallery: dict[str, bytes]) -> None:
    event = gallery["claimed"]
    before = mail.row(event)
    with only_changing(mail.database, event):
        assert mail.cancel(event) == "cancel_requested"
    row = mail.row(event)
    assert (row.gate, row.cancel_requested) == (Gate.CLAIMED, True)
    assert row.claim_expires_at == before.claim_expires_at
    assert mail.cancel(event) == "cancel_requested"
    pass_time(mail.database, 41_000)
    mail.run_due()
    assert mail.gate(event) is Gate.CANCELLED


def test_a_lease_that_is_over_holds_nothing_up(mail: Mailbox) -> None:
    mail.publish()
    event = mail.take_one(lease_seconds=5)
    pass_time(mail.database, 5)
    assert mail.cancel(event.id) == "cancelled"


@pytest.mark.parametrize("state", ["completed", "cancelled", "expired", "archived", "unscheduled"])
def test_what_is_final_stays(mail: Mailbox, gallery: dict[str, bytes], state: str) -> None:
    with unchanged(mail.database), pytest.raises(EventFinal) as final:
        mail.cancel(gallery[state])
    status = {"archived": "completed", "unscheduled": "cancelled"}.get(state, state)
    assert final.value.members == {"event_status": status}


def test_a_quarantined_event_leaves_quarantine(mail: Mailbox, gallery: dict[str, bytes]) -> None:
    mail.cancel(gallery["quarantined"])
    error = mail.read(gallery["quarantined"])["last_error"]
    assert error["code"] == "boom"
    lies_there = select(event_failure.c.event_id).where(event_failure.c.quarantined_at.is_not(None))
    assert mail.run(lambda s: s.connection().execute(lies_there).all()) == []
    with pytest.raises(Exception, match="not in quarantine"):
        mail.redrive(gallery["quarantined"])


def test_who_may_cancel(mail: Mailbox, tenant: Tenant, database) -> None:
    publishing = [ProjectScope("p", Verb.PUBLISH)]
    producer = tenant.principal(PrincipalKind.AGENT, publishing)
    twin = tenant.principal(PrincipalKind.AGENT, publishing)
    elsewhere = tenant.principal(PrincipalKind.AGENT, [ProjectScope("q", Verb.PUBLISH)])
    reader = tenant.principal(PrincipalKind.AGENT, [ProjectScope("p", Verb.READ)])
    foreign = make_tenant(database).service
    canceller = tenant.principal(PrincipalKind.SERVICE, [TenantScope.EVENTS_CANCEL])
    events = [mail.publish(producer=producer).event_id for _ in range(2)]
    scheduled = mail.publish(producer=producer, delay_seconds=9).event_id
    for event in (*events, scheduled):
        for nobody in (twin, elsewhere, foreign):
            with unchanged(database), pytest.raises(NotFound):
                mail.cancel(event, by=nobody)
    with unchanged(database), pytest.raises(InsufficientScope):
        mail.cancel(events[0], by=reader)
    with unchanged(database), pytest.raises(NotFound):
        mail.cancel(new_id(), by=producer)
    moved = replace(producer, scopes=frozenset([ProjectScope("q", Verb.PUBLISH)]))
    with unchanged(database), pytest.raises(NotFound):
        mail.cancel(events[0], by=moved)
    assert mail.cancel(events[0], by=producer) == "cancelled"
    assert mail.cancel(events[1], by=canceller) == "cancelled"
    assert mail.cancel(scheduled, by=producer) == "cancelled"


def test_a_scheduled_event_that_is_cancelled_never_gets_a_sequence(mail: Mailbox) -> None:
    event = mail.publish(delay_seconds=5).event_id
    mail.cancel(event)
    pass_time(mail.database, 10)
    with unchanged(mail.database):
        assert mail.run_due() == 0
    assert mail.inbox_row().head == 0


def test_what_was_ever_claimed_is_not_withdrawn_as_unread(mail: Mailbox) -> None:
    read, unread = (mail.publish().event_id for _ in range(2))
    mail.release(mail.take_one())
    withdrawn = {"by": "restante", "reason": "unread_timeout"}
    with unchanged(mail.database):
        taken = mail.run(lambda s: withdraw(s, read, only_unread=True, **withdrawn))
    assert taken is None
    with only_changing(mail.database, unread):
        assert mail.run(lambda s: withdraw(s, unread, only_unread=True, **withdrawn)) == "cancelled"
    assert mail.gate(unread) is Gate.CANCELLED
    assert mail.run(lambda s: withdraw(s, read, **withdrawn)) == "cancelled"
    with unchanged(mail.database), pytest.raises(EventFinal):
        mail.run(lambda s: withdraw(s, read, only_unread=True, **withdrawn))
