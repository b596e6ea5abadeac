"""For which of many inboxes something waits."""

from __future__ import annotations

import pytest
from sqlalchemy import event

from restante.signals.sweep import PAIRS, Waiting, waiting
from restante.storage.ids import new_id
from tests.factories import Mailbox, Tenant, pass_time
from tests.support.databases import TestDatabase


def standing(mail: Mailbox, slug: str = "p") -> Waiting | None:
    pair = (mail.id, mail.tenant.projects[slug].id)
    return mail.run(lambda session: waiting(session, {pair})).get(pair)


def test_an_empty_inbox_waits_for_nothing(mail: Mailbox) -> None:
    assert standing(mail) == Waiting(0, waits=False)


def test_something_claimable_waits_in_its_project_until_it_is_claimed(mail: Mailbox) -> None:
    mail.publish()
    assert standing(mail) == Waiting(1, waits=True)
    assert standing(mail, "q") == Waiting(1, waits=False)
    event = mail.take_one(lease_seconds=60)
    assert standing(mail) == Waiting(1, waits=False)
    mail.release(event)
    assert standing(mail) == Waiting(1, waits=True)


def test_an_overdue_timer_waits_though_nobody_has_run_it(mail: Mailbox) -> None:
    mail.publish()
    mail.take_one(lease_seconds=10)
    pass_time(mail.database, 9)
    assert standing(mail) == Waiting(1, waits=False)
    pass_time(mail.database, 2)
    assert standing(mail) == Waiting(1, waits=True)


def test_a_scheduled_event_waits_once_it_is_due(mail: Mailbox) -> None:
    mail.publish(delay_seconds=60.0)
    assert standing(mail) == Waiting(0, waits=False)
    pass_time(mail.database, 61)
    assert standing(mail) == Waiting(0, waits=True)
    assert standing(mail, "q") == Waiting(0, waits=False)


def test_who_waits_behind_a_key_and_who_expires_does_not_ring(mail: Mailbox) -> None:
    mail.publish_many([mail.publication(ordering_key="k") for _ in range(2)])
    mail.take_one(lease_seconds=600)
    assert standing(mail) == Waiting(2, waits=False)


@pytest.mark.parametrize("count", [1, 9, PAIRS, PAIRS + 1, 2 * PAIRS + 50])
def test_many_are_asked_about_at_once(
    tenant: Tenant, mail: Mailbox, database: TestDatabase, count: int
) -> None:
    p, q = tenant.projects["p"].id, tenant.projects["q"].id
    other = tenant.agent()
    other.publish(project="q")
    pairs = {(new_id(), p) for _ in range(count)} | {(mail.id, p), (other.id, q), (other.id, p)}
    statements: list[str] = []

    def note(_c: object, _cursor: object, statement: str, *_rest: object) -> None:
        if "agent_inbox" in statement:
            statements.append(statement)

    event.listen(database.engine, "before_cursor_execute", note)
    try:
        found = database.run(lambda session: waiting(session, pairs))
    finally:
        event.remove(database.engine, "before_cursor_execute", note)
    assert found == {
        (mail.id, p): Waiting(0, waits=False),
        (other.id, q): Waiting(1, waits=True),
        (other.id, p): Waiting(1, waits=False),
    }
    assert len(statements) == -(-len(pairs) // PAIRS)
