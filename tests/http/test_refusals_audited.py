"""Refused calls in the audit: who, where and why; one entry a minute for each caller and kind."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import select

from restante.audit.actions import Action, ActorKind
from restante.audit.chain import PLATFORM
from restante.audit.entries import Actor, Origin
from restante.audit.verification import verify
from restante.errors import Overloaded
from restante.identity.request_refusals import MOST_OF_STRANGERS, SECONDS, Refusals, RefusedCall
from restante.storage.tables.audit import audit_entry
from tests.http.administration import administrator, let_states_age
from tests.http.world import Caller, World, verbs


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(world: World) -> Clock:
    """That of the application's refusals."""
    found, refusals = Clock(), world.house.refusals
    for rates in (refusals._known, refusals._strangers, refusals._of_strangers):
        rates._clock = found
    return found


def refusals(world: World) -> list[Any]:
    """The entries of refused calls, oldest first."""
    found = select(audit_entry).where(audit_entry.c.action == Action.REQUEST_REFUSE.value)
    assert world.house.database.run(verify) is None
    return world.house.database.run(
        lambda s: list(s.connection().execute(found.order_by(audit_entry.c.at)).all())
    )


def ask(world: World, token: str, address: str = "192.0.2.1") -> int:
    """The status of a call with that token."""
    answer = world.client.get(
        "/api/v1/events?recipient=x",
        headers={"Authorization": f"Bearer {token}"},
        environ_base={"REMOTE_ADDR": address},
    )
    return answer.status_code


def test_who_where_and_why(world: World, alice: Caller) -> None:
    narrow = world.narrowed(alice, verbs("main", "read"))
    answer = narrow.post("A/inbox/claim", {})
    (entry,) = refusals(world)
    assert (entry.chain_id, entry.outcome) == (world.tenants["acme"], "refused")
    assert (entry.actor_kind, entry.actor_id) == ("agent", alice.id)
    assert entry.target == "POST /api/v1/agents/<agent_id>/inbox/claim"
    assert entry.reason == answer.json["detail"]
    assert (entry.address, entry.request_id) == ("127.0.0.1", answer.json["request_id"])


def test_one_a_minute_of_a_kind(world: World, clock: Clock, alice: Caller, bob: Caller) -> None:
    narrow = world.narrowed(alice, verbs("main", "read"))
    for _ in range(5):
        assert narrow.post("A/inbox/claim", {}).status_code == 403
        assert narrow.get("A/inbox?projects=other").status_code == 403
    assert len(refusals(world)) == 1
    assert narrow.get(f"/api/v1/agents/{bob.id}/inbox").status_code == 404
    assert [entry.reason for entry in refusals(world)][1:] == ["another's address"]
    assert bob.get(f"/api/v1/agents/{alice.id}/inbox").status_code == 404
    assert refusals(world)[2].actor_id == bob.id
    clock.now += SECONDS
    assert narrow.post("A/inbox/claim", {}).status_code == 403
    assert len(refusals(world)) == 4


def test_strangers_fill_nothing_and_hide_nobody(world: World, clock: Clock, alice: Caller) -> None:
    for number in range(50):
        assert ask(world, "rubbish", f"192.0.2.{number}") == 401
    found = refusals(world)
    assert len(found) == MOST_OF_STRANGERS
    assert {entry.chain_id for entry in found} == {PLATFORM}
    assert {(entry.actor_kind, entry.actor_id) for entry in found} == {("client", None)}
    assert world.narrowed(alice, verbs("main", "read")).post("A/inbox/claim", {}).status_code == 403
    assert refusals(world)[-1].actor_id == alice.id


def test_a_network_of_ipv6_is_one_stranger(world: World, clock: Clock) -> None:
    for number in range(3):
        assert ask(world, "rubbish", f"2001:db8::{number}") == 401
    assert len(refusals(world)) == 1
    assert ask(world, "rubbish", "2001:db8:0:1::1") == 401
    assert len(refusals(world)) == 2


def test_a_token_that_was_withdrawn_is_an_alarm_of_its_tenant(world: World, alice: Caller) -> None:
    admin = administrator(world)
    assert admin.post(f"admin/agents/{alice.id}/disable").status_code == 200
    let_states_age(world)
    assert alice.get("A/inbox").status_code == 401
    (entry,) = refusals(world)
    assert entry.chain_id == world.tenants["acme"]
    assert entry.reason == "the token does not hold (principal_gone)"
    # whoever has the token may be anybody
    assert (entry.actor_kind, entry.actor_id) == ("client", alice.id)
    assert alice.token not in repr(entry)


def test_no_token_and_one_that_is_over_are_nothing_to_know(world: World, alice: Caller) -> None:
    assert world.client.get("/api/v1/events").status_code == 401
    before = replace(alice)  # with the token of now
    world.pass_time(700)
    assert before.get("A/inbox").status_code == 401
    assert refusals(world) == []


def test_an_audit_that_cannot_be_written_changes_no_answer(
    world: World, alice: Caller, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    narrow = world.narrowed(alice, verbs("main", "read"))
    assert narrow.get("A/inbox").status_code == 200

    def busy(work: object) -> None:
        raise Overloaded

    monkeypatch.setattr(world.house.database, "run", busy)
    answer = narrow.post("A/inbox/claim", {})
    assert answer.status_code == 403
    assert f"refusal_not_audited request_id={answer.json['request_id']}" in caplog.text


def test_two_processes_have_a_minute_each(world: World, alice: Caller) -> None:
    """Counting them in the database would cost what the limit is to spare."""
    database = world.house.database
    refused = RefusedCall(Origin(Actor(ActorKind.CLIENT)), alice.id, "k", "GET /", "why")
    for one in (Refusals(database), Refusals(database)):
        one.note(refused)
        one.note(refused)
    assert len(refusals(world)) == 2
