"""Inboxes and events as operators see them: what is counted, in which order, and that it is one tenant's."""

from __future__ import annotations

import pytest

from restante.audit.actions import ActorKind
from restante.audit.entries import Actor, Origin
from restante.errors import NotFound
from restante.identity.administrators import Administrator
from restante.identity.principal import PrincipalKind
from restante.identity.roles import Role
from restante.inbox import inbox_list
from restante.inbox.attention import attention
from restante.inbox.inbox_events import InboxRow, list_events
from restante.inbox.inbox_list import read_inbox
from restante.inbox.inbox_table import list_inboxes
from restante.inbox.inspection import inspect, read_payload, thread
from restante.inbox.lifecycle import Status
from restante.inbox.triage.job_list import list_jobs
from restante.inbox.triage.listing import count_quarantined
from restante.sampling.inbox_history import FRESH
from restante.storage.ids import Prefix, encode_id
from restante.storage.transaction import Database
from tests.engine.triage import EVERYTHING, order, poison, start
from tests.factories import Mailbox, make_tenant, pass_time
from workers.sampler import Sampler

BY = Origin(Actor(ActorKind.OPERATOR, "opr_1"))


def operator(tenant_id: bytes) -> Administrator:
    return Administrator(tenant_id, BY, role=Role.OPERATOR)


def events(mail: Mailbox, status: Status | None, limit: int = 2) -> list[InboxRow]:
    """All of them, page by page."""
    found: list[InboxRow] = []
    token = None
    public_id = encode_id(Prefix.AGENT, mail.agent.id)
    who = operator(mail.tenant.id)
    while True:

        def page(session, token=token):
            agent = read_inbox(session, who, public_id).agent
            return list_events(session, who, agent, status, limit=limit, token=token)

        rows, token = mail.run(page)
        found += rows
        if token is None:
            return found


def test_an_inbox_is_counted_by_state(mail: Mailbox) -> None:
    poison(mail, 2)
    for _ in range(3):
        mail.publish()
    mail.publish(delay_seconds=600)
    mail.take(limit=1)
    who = operator(mail.tenant.id)
    page = mail.run(lambda s: list_inboxes(s, who, limit=100))
    line = next(one for one in page.lines if one.agent.id == mail.agent.id)
    assert page.next_page_token is None
    assert line.counts == {
        Status.SCHEDULED: 1,
        Status.PENDING: 2,
        Status.CLAIMED: 1,
        Status.QUARANTINED: 2,
    }
    assert (line.head, line.oldest_cursor, line.agent.kind) == (5, 0, PrincipalKind.AGENT)
    assert line.oldest_pending_at is not None
    assert mail.run(lambda s: count_quarantined(s, who)) == 2


def test_what_is_deep_is_told_by_the_last_sample_while_that_is_fresh(
    mail: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox_list, "LIVE", 2)
    who = operator(mail.tenant.id)

    def told() -> tuple[int, int]:
        counts = mail.run(lambda s: read_inbox(s, who, mail.agent.public_id)).counts
        return counts[Status.PENDING], counts[Status.CLAIMED]

    mail.publish_many([mail.publication()] * 4)
    assert told() == (4, 0)  # nobody has sampled
    Sampler(mail.database).run_once()
    mail.publish_many([mail.publication()] * 2)
    mail.take_one()
    assert told() == (4, 1)
    pass_time(mail.database, FRESH.total_seconds() + 60)
    mail.run_due()
    assert sum(told()) == 6


def test_events_of_a_state_go_in_the_order_of_claims_page_by_page(mail: Mailbox) -> None:
    for n in range(5):
        mail.publish(project="pq"[n % 2], priority=n % 3)
    (held,) = mail.take(limit=1)
    pending = events(mail, Status.PENDING)
    assert [(row.priority, row.sequence_number) for row in pending] == [
        (1, 2),
        (1, 5),
        (0, 1),
        (0, 4),
    ]
    (row,) = events(mail, Status.CLAIMED)
    assert (row.event_id, row.generation, row.attempts) == (held.told["event_id"], 1, 1)
    assert len(events(mail, None)) == 5
    mail.ack(held)
    assert [row.sequence_number for row in events(mail, Status.COMPLETED)] == [3]


def test_scheduled_events_go_by_when_they_are_due(mail: Mailbox) -> None:
    ids = [mail.publish(delay_seconds=delay).event_id for delay in (900, 300, 600)]
    told = [row.event_id for row in events(mail, Status.SCHEDULED)]
    assert told == [encode_id(Prefix.EVENT, ids[n]) for n in (1, 2, 0)]


def test_an_event_is_inspected_and_that_its_payload_was_read_is_known(mail: Mailbox) -> None:
    (event_id,) = poison(mail, 1, correlation_id="c")
    who = operator(mail.tenant.id)
    found = mail.run(lambda s: inspect(s, who, event_id))
    assert (found.status, found.attempts, found.archived) == (Status.QUARANTINED, 1, False)
    assert found.last_error is not None
    assert [entry["kind"] for entry in found.timeline] == ["released", "quarantined"]
    payload = mail.run(lambda s: read_payload(s, who, event_id))
    assert found.payload_bytes == len(payload)
    (brief,), more = mail.run(lambda s: thread(s, who, "c", limit=5))
    assert (brief.event_id, more) == (found.event_id, False)
    jobs, token = mail.run(lambda s: list_jobs(s, who, limit=5))
    assert (jobs, token) == ([], None)
    made = start(mail, order(EVERYTHING))
    jobs, _ = mail.run(lambda s: list_jobs(s, who, limit=5))
    assert [job.job_id for job in jobs] == [made]


def test_nothing_of_another_tenant_is_seen(mail: Mailbox, database: Database) -> None:
    (event_id,) = poison(mail, 1, correlation_id="c")
    start(mail, order(EVERYTHING))
    rival = operator(make_tenant(database).id)
    public_id = encode_id(Prefix.AGENT, mail.agent.id)
    for look in (
        lambda s: inspect(s, rival, event_id),
        lambda s: read_payload(s, rival, event_id),
        lambda s: inspect(s, rival, None),
        lambda s: read_inbox(s, rival, public_id),
    ):
        with pytest.raises(NotFound):
            mail.run(look)
    assert mail.run(lambda s: thread(s, rival, "c", limit=5)) == ([], False)
    assert mail.run(lambda s: list_jobs(s, rival, limit=5)) == ([], None)
    assert mail.run(lambda s: list_inboxes(s, rival, limit=5)).lines == []
    assert mail.run(lambda s: count_quarantined(s, rival)) == 0


def test_what_needs_attention_is_found_by_the_bound_of_each_inbox(mail: Mailbox) -> None:
    poison(mail, 2)
    mail.publish()
    paused, idle = mail.tenant.agent(), mail.tenant.agent()
    paused.publish()
    paused.set_limits(paused=True)
    who = operator(mail.tenant.id)
    found = mail.run(lambda s: attention(s, who))
    assert [group.count for group in found.causes] == [2]
    assert {line.agent.id for line in found.inboxes} == {mail.agent.id, paused.agent.id}
    assert idle.agent.id not in {line.agent.id for line in found.inboxes}
    assert [line.agent.id for line in found.away] == [mail.agent.id]
    assert [line.agent.id for line in found.paused] == [paused.agent.id]
    assert (found.total(Status.PENDING), found.all_seen, found.disabled) == ((2, False), True, [])
    assert found.oldest_pending_at is not None
