"""Agents that are disabled, removed or paused through the admin API, on each database."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from restante.signals.rings import ON_RING, Ring
from restante.storage.ids import Prefix, encode_id
from tests.http.administration import administrator, audited, change, faults, let_states_age, step
from tests.http.world import Caller, World, open_world, verbs
from tests.support.databases import TestDatabase


@pytest.fixture
def world(database: TestDatabase, settings: dict[str, object]) -> Iterator[World]:
    with open_world(database.url, settings) as one:
        yield one


@pytest.fixture
def admin(world: World) -> Caller:
    return administrator(world)


def test_a_disabled_agent_is_let_in_no_more_and_its_mail_is_kept(
    world: World, admin: Caller, alice: Caller, bob: Caller
) -> None:
    bob.publish(alice)
    held = alice.claim(limit=1)[0]
    assert step(admin, alice, "disable")["status"] == "disabled"
    assert step(admin, alice, "disable")["status"] == "disabled"
    let_states_age(world)
    assert alice.get("A/inbox").status_code == 401
    settled = alice.post(f"A/inbox/{held['event_id']}/ack", {"claim_generation": 1})
    assert settled.status_code == 401
    with pytest.raises(AssertionError, match="invalid_client"):
        world.narrowed(alice, verbs("main"))
    bob.publish(alice)
    assert step(admin, alice, "enable")["status"] == "active"
    let_states_age(world)
    assert len(alice.claim()) == 1
    assert alice.post(f"A/inbox/{held['event_id']}/ack", {"claim_generation": 1}).status_code == 200
    assert audited(world, by=admin) == [
        ("agent.disable", alice.id, "alice"),
        ("agent.enable", alice.id, "alice"),
    ]


def test_a_removed_agent_stays_removed(
    world: World, admin: Caller, alice: Caller, bob: Caller
) -> None:
    (event,) = bob.publish(alice)
    assert step(admin, alice, "remove")["status"] == "removed"
    assert step(admin, alice, "remove")["grants"] == []
    let_states_age(world)
    assert alice.get("A/inbox").status_code == 401
    refused = bob.post(
        "events", {"recipients": [alice.id], "project": "main", "payload": {"type": "t"}}
    )
    assert (refused.status_code, refused.json["type"]) == (422, "/problems/recipient-refused")
    # its events are there until retention takes them
    assert bob.get(f"events/{event['event_id']}").json["status"] == "pending"
    assert admin.get(f"admin/agents/{alice.id}").json["status"] == "removed"
    path = f"admin/agents/{alice.id}"
    for answer in (
        *(admin.post(f"{path}/{what}") for what in ("enable", "disable", "pause", "resume")),
        change(admin, alice, max_pending=1),
        admin.call("PUT", f"{path}/grants", json={"grants": verbs("main")}),
        admin.post(f"{path}/credentials", {"type": "client_secret"}),
    ):
        assert (answer.status_code, answer.json["type"]) == (404, "/problems/not-found")
    assert admin.get(f"{path}/credentials").json["credentials"] == []
    assert faults(admin.post("admin/agents", {"name": "alice"})) == ["/name"]
    assert audited(world, by=admin) == [("agent.remove", alice.id, "alice")]


def test_a_paused_agent_is_given_nothing_until_it_goes_on(
    world: World, admin: Caller, alice: Caller, bob: Caller
) -> None:
    for _ in range(2):
        bob.publish(alice)
    held = alice.claim(limit=1)[0]
    assert step(admin, alice, "pause")["paused"] is True
    assert step(admin, alice, "pause")["paused"] is True
    answer = alice.post("A/inbox/claim", {}).json
    assert (answer["events"], answer["reason"]) == ([], "paused")
    assert alice.post(f"A/inbox/{held['event_id']}/ack", {"claim_generation": 1}).status_code == 200
    assert len(alice.get("A/inbox?status=open").json["events"]) == 1
    rung: list[Ring] = []
    world.house.database.info[ON_RING] = rung.extend
    assert step(admin, alice, "resume")["paused"] is False
    assert [(encode_id(Prefix.AGENT, ring.recipient_id), ring.head) for ring in rung] == [
        (alice.id, 2)
    ]
    assert len(alice.claim()) == 1
    assert audited(world, by=admin) == [
        ("agent.pause", alice.id, "alice"),
        ("agent.resume", alice.id, "alice"),
    ]
