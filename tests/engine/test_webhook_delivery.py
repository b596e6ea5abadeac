"""Deliveries: events claimed, posted, settled by what the receiver answered."""

from __future__ import annotations

import orjson
import pytest
from sqlalchemy import delete

from restante.audit.entries import IN_PROCESS
from restante.egress.refusal import Cause
from restante.identity.scopes import Verb
from restante.observations import ON_OBSERVED, What
from restante.storage.tables.identity import granted_scope
from restante.webhooks import registration
from restante.webhooks.callbacks import Mode
from restante.webhooks.delivery import TurnOver, prepare
from restante.webhooks.room import Room
from restante.webhooks.states import Step
from tests.engine.hooks import VERBS, Hooks
from tests.factories import Mailbox, make_tenant, pass_time
from tests.http.callbacks import http
from tests.support.databases import TestDatabase


@pytest.fixture
def hooks(database: TestDatabase) -> Hooks:
    made = Hooks(database)
    answers(made, 200)
    return made


@pytest.fixture
def mail(database: TestDatabase) -> Mailbox:
    return make_tenant(database).agent(verbs=VERBS)


def answers(hooks: Hooks, status: int, fields: str = "") -> None:
    hooks.receiver.answering = lambda _: http(b"", status=status, fields=fields)


def states(mail: Mailbox) -> list[tuple[str, int]]:
    """(status, attempts) of what others have published; what the server says is told of elsewhere."""
    events = map(orjson.loads, mail.page().events)
    return [(e["status"], e["attempts"]) for e in events if e["producer"]["kind"] != "server"]


def test_every_event_is_delivered_and_acked_in_order(hooks: Hooks, mail: Mailbox) -> None:
    published = [mail.publish() for _ in range(3)]
    one = hooks.active(mail)
    assert hooks.pass_once() == 3
    bodies = hooks.receiver.bodies
    assert [body["sequence_number"] for body in bodies] == [1, 2, 3]
    assert len(published) == len({body["event_id"] for body in bodies}) == 3
    for sent, body in zip(hooks.receiver.requests, bodies, strict=True):
        head = sent.partition(b"\r\n\r\n")[0].decode()
        assert f"webhook-id: {body['event_id']}" in head
        assert body["claim_generation"] == 1
        assert body["status"] == "claimed"
    assert [state for state, _ in states(mail)] == ["completed"] * 3
    assert hooks.attempts(one) == [("delivered", 200)] * 3
    assert hooks.now(one).delivered_at is not None
    assert hooks.pass_once() == 0


def test_a_delivery_belongs_to_the_trace_of_its_event(hooks: Hooks, mail: Mailbox) -> None:
    trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    mail.publish(traceparent=trace)
    mail.publish(traceparent="none\r\nthat: may go out")  # an application's own
    hooks.active(mail)
    assert hooks.pass_once() == 2
    heads = [sent.partition(b"\r\n\r\n")[0].decode() for sent in hooks.receiver.requests]
    assert f"\r\ntraceparent: {trace}\r\n" in f"{heads[0]}\r\n"
    assert "traceparent" not in heads[1]


def test_202_leaves_the_settling_to_the_receiver_within_its_limit(
    hooks: Hooks, mail: Mailbox
) -> None:
    for _ in range(3):
        mail.publish()
    hooks.active(mail, max_in_flight=2)
    answers(hooks, 202)
    assert hooks.pass_once() == 2
    assert [state for state, _ in states(mail)] == ["claimed", "claimed", "pending"]
    pass_time(hooks.database, 2)
    assert hooks.pass_once() == 0
    pass_time(hooks.database, 61)
    assert [state for state, _ in states(mail)][2] == "pending"


@pytest.mark.parametrize("status", [400, 401, 404, 422])
def test_another_4xx_is_a_failed_attempt_of_the_event(
    hooks: Hooks, mail: Mailbox, status: int
) -> None:
    mail.publish()
    one = hooks.active(mail)
    answers(hooks, status)
    sent = hooks.pass_once()  # its backoff is full jitter: it may be over at once
    assert sent >= 1
    assert states(mail) in ([("pending", sent)], [("quarantined", 5)])
    assert hooks.now(one).failures == 0
    assert hooks.attempts(one) == [("refused", status)] * sent


@pytest.mark.parametrize("status", [302, 408, 429, 500, 503])
def test_what_the_transport_does_counts_against_the_callback_alone(
    hooks: Hooks, mail: Mailbox, status: int
) -> None:
    mail.publish()
    one = hooks.active(mail)
    answers(hooks, status)
    assert hooks.pass_once() == 1
    assert states(mail) == [("pending", 0)]
    assert hooks.now(one).failures == 1
    assert hooks.attempts(one) == [("failed", status)]
    assert hooks.pass_once() == 0 or hooks.row(one).failures == 2


def test_ten_transport_failures_in_a_row_suspend_and_events_wait_for_pull(
    hooks: Hooks, mail: Mailbox
) -> None:
    mail.publish()
    one = hooks.active(mail)
    hooks.receiver.failing = Cause.CONNECT
    for _ in range(10):
        pass_time(hooks.database, 2)
        hooks.make_due(one)
        assert hooks.pass_once() == 1
    there = hooks.now(one)
    assert (there.status, there.failures) == ("suspended", 10)
    assert "10 deliveries in a row" in (there.status_reason or "")
    pass_time(hooks.database, 2)
    assert states(mail) == [("pending", 0)]
    assert len(mail.claim(limit=1).events) == 1
    assert hooks.pass_once() == 0


def test_a_success_begins_the_count_anew(hooks: Hooks, mail: Mailbox) -> None:
    mail.publish()
    one = hooks.active(mail)
    answers(hooks, 500)
    hooks.pass_once()
    assert hooks.now(one).failures == 1
    answers(hooks, 200)
    pass_time(hooks.database, 2)
    hooks.make_due(one)
    assert hooks.pass_once() == 1
    assert hooks.now(one).failures == 0


def test_a_day_of_failures_suspends(hooks: Hooks, mail: Mailbox) -> None:
    mail.publish()
    one = hooks.active(mail)
    answers(hooks, 500)
    hooks.pass_once()
    pass_time(hooks.database, days=1, seconds=1)
    hooks.make_due(one)
    assert hooks.pass_once() == 1
    assert "24 hours" in (hooks.now(one).status_reason or "")


def test_410_suspends_at_once_and_the_event_is_given_back(hooks: Hooks, mail: Mailbox) -> None:
    mail.publish()
    one = hooks.active(mail)
    answers(hooks, 410)
    assert hooks.pass_once() == 1
    assert hooks.now(one).status == "suspended"
    pass_time(hooks.database, 2)
    assert states(mail) == [("pending", 0)]
    hooks.decide(one, Step.RESUME)
    answers(hooks, 200)
    hooks.pass_once()
    assert states(mail) == [("completed", 1)]


def test_retry_after_is_waited_for(hooks: Hooks, mail: Mailbox) -> None:
    mail.publish()
    one = hooks.active(mail)
    answers(hooks, 503, "Retry-After: 600\r\n")
    hooks.pass_once()
    answers(hooks, 200)
    pass_time(hooks.database, 590)
    assert hooks.pass_once() == 0
    pass_time(hooks.database, 20)
    assert hooks.pass_once() == 1
    assert hooks.attempts(one) == [("failed", 503), ("delivered", 200)]


def test_notify_tells_once_however_much_there_is(hooks: Hooks, mail: Mailbox) -> None:
    for _ in range(3):
        mail.publish()
    hooks.active(mail, mode=Mode.NOTIFY)
    assert hooks.pass_once() == 1
    assert hooks.receiver.bodies == [
        {"type": "inbox_updated", "agent_id": mail.agent.public_id, "cursor_hint": 3}
    ]
    pass_time(hooks.database, 2)
    assert hooks.pass_once() == 0
    mail.publish()
    pass_time(hooks.database, 2)
    assert hooks.pass_once() == 1
    assert hooks.receiver.bodies[-1]["cursor_hint"] == 4
    pass_time(hooks.database, 61)
    assert hooks.pass_once() == 1
    assert [state for state, _ in states(mail)] == ["pending"] * 4


def test_only_projects_that_are_granted_and_named(hooks: Hooks, mail: Mailbox) -> None:
    mail.publish(project="p")
    mail.publish(project="q")
    hooks.active(mail, projects=["q"])
    assert hooks.pass_once() == 1
    assert [body["project"] for body in hooks.receiver.bodies] == ["q"]


def test_what_is_withdrawn_ends_deliveries(hooks: Hooks, mail: Mailbox) -> None:
    mail.publish()
    one = hooks.active(mail)
    scope = granted_scope.c.scope.in_([f"agent:{p}:{Verb.CALLBACK}" for p in "pq"])
    hooks.database.run(lambda s: s.connection().execute(delete(granted_scope).where(scope)))
    assert hooks.pass_once() == 0
    assert hooks.row(one).due_at is not None
    assert states(mail) == [("pending", 0)]


def test_a_disabled_agents_are_not_delivered(hooks: Hooks, mail: Mailbox) -> None:
    mail.publish()
    hooks.active(mail)
    mail.set_limits(status="disabled")
    assert hooks.pass_once() == 0


@pytest.mark.parametrize("step", [Step.SUSPEND, Step.REJECT, Step.REMOVE])
def test_nothing_goes_out_once_it_is_over(hooks: Hooks, mail: Mailbox, step: Step) -> None:
    mail.publish()
    one = hooks.active(mail)
    relay = hooks.relay()
    (turn,) = relay.take(Room()).turns
    if step is Step.REMOVE:
        hooks.database.run(lambda s: registration.remove(s, mail.agent, one.id, by=IN_PROCESS))
    else:
        hooks.decide(one, step)
    assert relay.carry_out(turn) == 0
    with pytest.raises(TurnOver):
        hooks.database.run(lambda s: prepare(s, turn, relay._keys, hooks.secrets))
    assert hooks.receiver.requests == []
    assert states(mail) == [("pending", 0)]


def test_a_url_that_is_not_allowed_any_more_is_not_called(hooks: Hooks, mail: Mailbox) -> None:
    mail.publish()
    one = hooks.active(mail)
    dialled = len(hooks.receiver.addresses)
    hooks.names._answers = [["169.254.169.254"]]
    assert hooks.pass_once() == 1
    assert len(hooks.receiver.addresses) == dialled
    assert hooks.attempts(one) == [("blocked", None)]
    assert states(mail) == [("pending", 0)]


def test_what_was_tried_is_counted(hooks: Hooks, mail: Mailbox) -> None:
    counted: list[tuple[str, tuple[str, ...]]] = []
    hooks.database.info[ON_OBSERVED] = lambda seen: counted.extend(
        (one.what, one.labels) for one in seen if one.what is What.CALLBACK_TRIED
    )
    mail.publish()
    hooks.active(mail)
    hooks.pass_once()
    assert counted == [("callback_tried", ("delivered",))]
