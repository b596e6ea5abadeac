"""Turns: relays share the work, tenants take turns, active callbacks are challenged again."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from restante.audit.entries import IN_PROCESS
from restante.errors import ChallengeFailed
from restante.webhooks import relay as relays
from restante.webhooks.delivery import prepare
from restante.webhooks.room import Room
from restante.webhooks.states import Step
from tests.engine.hooks import VERBS, Hooks
from tests.factories import Mailbox, make_tenant, pass_time
from tests.http.callbacks import http, right
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
    return [(event["status"], event["attempts"]) for event in map(orjson.loads, mail.page().events)]


def test_two_relays_share_the_work_and_a_dead_ones_is_taken_over(
    hooks: Hooks, mail: Mailbox
) -> None:
    mail.publish()
    hooks.active(mail)
    first, second = hooks.relay(), hooks.relay()
    (turn,) = first.take(Room()).turns
    assert second.take(Room()).turns == []
    batch = hooks.database.run(lambda s: prepare(s, turn, first._keys, hooks.secrets))
    (parcel,) = batch.parcels
    first.post(turn, parcel)  # and it is killed before it could ack
    pass_time(hooks.database, 61)
    assert states(mail)[0][0] == "pending"  # whoever looks ends the lease: a failed attempt
    pass_time(hooks.database, 6)
    (again,) = second.take(Room()).turns
    assert second.carry_out(again) == 1
    ids = [body["event_id"] for body in hooks.receiver.bodies]
    assert ids[0] == ids[1]
    assert [body["claim_generation"] for body in hooks.receiver.bodies] == [1, 2]
    assert states(mail) == [("completed", 2)]
    assert first.carry_out(turn) == 0


def test_the_tenants_take_turns(hooks: Hooks, database: TestDatabase) -> None:
    loud, quiet = make_tenant(database), make_tenant(database)
    boxes = [loud.agent(verbs=VERBS) for _ in range(4)] + [quiet.agent(verbs=VERBS)]
    for number, box in enumerate(boxes):
        box.publish()
        hooks.active(box, url=f"https://h{number}.example.com/")
    turns = hooks.relay().take(Room(2)).turns
    assert {turn.callback.tenant_id for turn in turns} == {loud.id, quiet.id}


def test_an_active_one_is_challenged_again_after_three_days(hooks: Hooks, mail: Mailbox) -> None:
    one = hooks.active(mail)
    relay = hooks.relay()
    assert relay.challenge_due(most=5) == 0
    pass_time(hooks.database, days=3, seconds=1)
    hooks.receiver.answering = right()
    assert relay.challenge_due(most=5) == 1
    assert hooks.now(one).status == "active"
    assert relay.challenge_due(most=5) == 0
    pass_time(hooks.database, days=3, seconds=1)
    answers(hooks, 500)
    for _ in range(3):
        assert relay.challenge_due(most=5) == 1
        pass_time(hooks.database, 20 * 60)
    assert hooks.now(one).status == "suspended"


def test_resuming_spends_a_challenge_only_where_the_last_is_old_or_failed(
    hooks: Hooks, mail: Mailbox
) -> None:
    one, relay = hooks.active(mail), hooks.relay()
    hooks.receiver.answering = right()

    def resume() -> int:
        hooks.decide(one, Step.SUSPEND)
        hooks.decide(one, Step.RESUME)
        return relay.challenge_due(most=5)

    assert [resume() for _ in range(3)] == [0, 0, 0]
    pass_time(hooks.database, 61 * 60)
    assert [resume(), resume()] == [1, 0]
    answers(hooks, 500)
    with pytest.raises(ChallengeFailed):
        hooks.challenger.again(mail.agent, one.id, by=IN_PROCESS)
    assert [resume(), resume()] == [1, 1]


def test_what_nobody_foresaw_of_a_call_counts_against_the_callback_alone(
    hooks: Hooks, mail: Mailbox
) -> None:
    event_id = mail.publish().event_id
    one = hooks.active(mail)
    hooks.receiver.dialled = lambda: int("nobody foresaw this")
    assert hooks.pass_once() == 1
    told = mail.read(event_id)
    assert (told["status"], told["attempts"]) == ("pending", 0)
    assert hooks.attempts(one) == [("failed", None)]
    assert hooks.now(one).failures == 1


def test_a_fault_before_a_call_gives_the_event_back(
    hooks: Hooks, mail: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    event_id = mail.publish().event_id
    hooks.active(mail)
    monkeypatch.setattr(relays, "signed_fields", lambda *_, **__: int("nobody foresaw this"))
    with pytest.raises(ValueError, match="foresaw"):
        hooks.pass_once()
    told = mail.read(event_id)
    assert (told["status"], told["attempts"]) == ("pending", 0)


def test_one_that_cannot_be_challenged_takes_no_turn_from_the_others(
    hooks: Hooks, database: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    ones = [hooks.active(make_tenant(database).agent(verbs=VERBS)) for _ in range(2)]
    pass_time(database, days=3, seconds=1)
    hooks.receiver.answering = right()
    live, called = hooks.secrets.live, []

    def broken_once(*given: Any) -> list[str]:
        called.append(given)
        if len(called) == 1:
            raise KeyError("nobody foresaw this")
        return live(*given)

    monkeypatch.setattr(hooks.secrets, "live", broken_once)
    with pytest.raises(KeyError):
        hooks.relay().challenge_due(most=5)
    assert len(hooks.receiver.requests) == 1
    assert len({hooks.row(one).challenge_due_at for one in ones}) == 2
