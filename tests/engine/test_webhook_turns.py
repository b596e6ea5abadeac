"""Turns: relays share the work, tenants take turns, active callbacks are challenged again."""

from __future__ import annotations

import orjson
import pytest

from restante.webhooks.delivery import prepare
from restante.webhooks.room import Room
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
