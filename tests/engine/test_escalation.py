"""What nobody has read for too long is told to an agent or to the operators, once."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import update

from restante.inbox import escalation_list
from restante.inbox.escalation_list import Escalation
from restante.signals.presence import write_presence
from restante.storage.ids import Prefix, encode_id
from restante.storage.tables.identity import granted_scope, principal, project
from tests.engine.snapshot import unchanged
from tests.factories import Mailbox, Tenant, pass_time
from workers.escalations import Escalations

NOBODY = {"told": 0, "failed": 0, "more": 0}


@pytest.fixture
def boss(tenant: Tenant) -> Mailbox:
    """Whom others' unread mail is told to."""
    return tenant.agent()


def ask(tenant: Tenant, boss: Mailbox | None, seconds: int | None = 60, slug: str = "p") -> None:
    """Have what is unread for so long in the project told to him, or to the operators."""
    asked = update(project).where(project.c.project_id == tenant.projects[slug].id)
    told = None if boss is None else boss.id
    values = {"unread_after_seconds": seconds, "unread_escalate_to": told}
    tenant.database.run(lambda s: s.connection().execute(asked.values(values)))


def look(tenant: Tenant) -> dict[str, int]:
    return dict(Escalations(tenant.database).run_once())


def listed(tenant: Tenant, **members: Any) -> list[Escalation]:
    return list(
        tenant.database.run(
            lambda s: escalation_list.list_escalations(s, tenant.id, **({"limit": 100} | members))
        )
    )


def test_it_is_told_once_when_it_is_old_enough(
    tenant: Tenant, mail: Mailbox, boss: Mailbox
) -> None:
    ask(tenant, boss)
    event = mail.publish(correlation_id="c", priority=7)
    pass_time(mail.database, 59)
    with unchanged(mail.database):
        assert look(tenant) == NOBODY
    pass_time(mail.database, 2)
    assert look(tenant) == NOBODY | {"told": 1}
    (told,) = boss.take()
    assert told.told["type"] == "unread_escalation"
    assert told.told["producer"] == {
        "kind": "server",
        "id": "restante",
        "name": "restante",
        "signed": False,
    }
    assert told.told["correlation_id"] == "c"
    assert told.told["causation_id"] == encode_id_of(event.event_id)
    payload = told.told["payload"]
    assert payload.pop("unread_seconds") >= 60
    assert payload.pop("available_at").endswith("Z")
    assert payload == {
        "type": "unread_escalation",
        "event_id": encode_id_of(event.event_id),
        "recipient_id": mail.agent.public_id,
        "event_type": "t",
        "priority": 7,
    }
    (row,) = listed(tenant)
    assert (row.event_id, row.recipient_id, row.escalated_to, row.status) == (
        event.event_id,
        mail.id,
        boss.id,
        "pending",
    )
    boss.ack(told)
    pass_time(mail.database, 3600)
    assert look(tenant) == NOBODY
    assert [e.id for e in mail.take()] == [event.event_id]  # it is still its recipient's


def encode_id_of(event_id: bytes) -> str:
    return encode_id(Prefix.EVENT, event_id)


def test_what_was_read_claimed_or_ended_is_not_unread(
    tenant: Tenant, mail: Mailbox, boss: Mailbox
) -> None:
    ask(tenant, boss)
    mail.publish()
    mail.run(lambda session: write_presence(session, {mail.id: 1}))
    for _ in range(4):
        mail.publish()
    first, second, third = mail.take(limit=3)
    mail.ack(second)
    mail.release(third)
    mail.publish(expires_in_seconds=10)
    mail.publish(project="q")
    mail.cancel(mail.publish().event_id)
    unread = mail.publish(ordering_key="o")
    waiting = mail.publish(ordering_key="o")
    pass_time(mail.database, 61)
    assert look(tenant)["told"] == 4  # the two that nobody took, and those of the key
    told = {row.event_id for row in listed(tenant)}
    assert {unread.event_id, waiting.event_id} < told
    assert not told & {first.id, second.id, third.id}


def test_without_an_agent_it_is_the_operators(tenant: Tenant, mail: Mailbox) -> None:
    ask(tenant, None)
    events = [mail.publish() for _ in range(3)]
    pass_time(mail.database, 61)
    before = mail.inbox_row()
    assert look(tenant)["told"] == 3
    assert mail.inbox_row() == before
    newest = listed(tenant, limit=2)
    assert [row.event_id for row in newest] == [e.event_id for e in reversed(events[1:])]
    older = listed(tenant, before=newest[-1].event_id, for_operators=True)
    assert [row.event_id for row in older] == [events[0].event_id]
    assert older[0].escalated_to is None
    mail.ack(mail.take_one())
    assert [row.status for row in listed(tenant)] == ["pending", "pending", "completed"]


def test_who_is_told_and_does_not_read_is_told_of_to_the_operators(
    tenant: Tenant, mail: Mailbox, boss: Mailbox
) -> None:
    ask(tenant, boss)
    mail.publish()
    pass_time(mail.database, 61)
    assert look(tenant)["told"] == 1
    pass_time(mail.database, 61)
    assert look(tenant)["told"] == 1
    (row,) = listed(tenant, for_operators=True)
    assert (row.recipient_id, row.escalated_to) == (boss.id, None)
    pass_time(mail.database, 61)
    assert look(tenant) == NOBODY


@pytest.mark.parametrize("lost", ["removed", "project"])
def test_whom_it_cannot_be_told_to_any_more(
    tenant: Tenant, mail: Mailbox, boss: Mailbox, lost: str
) -> None:
    ask(tenant, boss)
    mail.publish()
    pass_time(mail.database, 61)
    gone: Any = granted_scope.delete().where(granted_scope.c.principal_id == boss.id)
    if lost == "removed":
        gone = update(principal).where(principal.c.principal_id == boss.id)
        gone = gone.values(status="removed")
    mail.run(lambda s: s.connection().execute(gone))
    assert look(tenant)["told"] == 1
    assert boss.inbox_row().head == 0
    assert len(listed(tenant, for_operators=True)) == 1


def test_every_project_has_its_own_policy(tenant: Tenant, mail: Mailbox, boss: Mailbox) -> None:
    ask(tenant, boss, 60, "p")
    ask(tenant, None, 600, "q")
    mail.publish(project="q")
    mail.publish()
    pass_time(mail.database, 61)
    assert look(tenant)["told"] == 1
    pass_time(mail.database, 600)
    assert look(tenant)["told"] == 2  # q's, and what its own reader has not read of p
    ask(tenant, None, None, "p")
    ask(tenant, None, None, "q")
    mail.publish()
    pass_time(mail.database, 6000)
    assert look(tenant) == NOBODY


def test_very_many_are_told_bit_by_bit(tenant: Tenant, mail: Mailbox, boss: Mailbox) -> None:
    ask(tenant, boss)
    alike = mail.publication(payload=b"{}", more=(b"{}",) * 699)
    mail.publish_many([alike])
    pass_time(mail.database, 61)
    assert look(tenant) == {"told": 500, "failed": 0, "more": 1}
    assert look(tenant) == {"told": 200, "failed": 0, "more": 0}
    assert boss.inbox_row().head == 700
    assert len({row.event_id for row in listed(tenant, limit=1000)}) == 700


def test_retention_goes_on_beneath_it(tenant: Tenant, mail: Mailbox) -> None:
    ask(tenant, None)
    mail.publish()
    pass_time(mail.database, 61)
    look(tenant)
    pass_time(mail.database, days=40)
    mail.retain()
    assert [row.status for row in listed(tenant)] == ["expired"]
    mail.publish()
    pass_time(mail.database, 61)
    assert look(tenant)["told"] == 1
    assert tenant.database.run(lambda s: list_of_others(s, tenant)) == []


def list_of_others(session: Any, tenant: Tenant) -> list[Escalation]:
    """Those of a tenant that has none."""
    return list(escalation_list.list_escalations(session, b"\0" * 16, limit=10))
