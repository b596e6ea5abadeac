"""`supersedes_key` through the API, on each database."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.http.administration import faults
from tests.http.world import Caller, World, open_world, verbs
from tests.support.databases import TestDatabase


@pytest.fixture
def world(database: TestDatabase, settings: dict[str, object]) -> Iterator[World]:
    with open_world(database.url, settings) as one:
        yield one


@pytest.fixture
def agent(world: World) -> Caller:
    return world.agent("acme", "alice", verbs("main"))


def test_the_newer_one_cancels_the_older(agent: Caller) -> None:
    (old,) = agent.publish(agent, supersedes_key="price")
    again = agent.post(
        "A/events",
        {"project": "main", "type": "t", "payload": {}, "supersedes_key": "price"},
    )
    assert again.status_code == 201, again.text
    receipt = agent.get(f"events/{old['event_id']}").json
    assert receipt["status"] == "cancelled"
    read = agent.get(f"A/inbox/{old['event_id']}").json
    assert [(entry["kind"], entry["reason"]) for entry in read["timeline"]] == [
        ("cancelled", "superseded")
    ]
    assert len(agent.claim()) == 1


def test_within_one_call_the_answer_says_what_became_of_each(agent: Caller) -> None:
    one = {"recipients": [agent.id], "project": "main", "type": "t", "payload": {}}
    body = {"events": [one | {"supersedes_key": "k"}] * 2}
    answer = agent.post("events", body)
    assert [event["status"] for event in answer.json["events"]] == ["cancelled", "pending"]


def test_a_turn_supersedes_too(agent: Caller) -> None:
    (old,) = agent.publish(agent, supersedes_key="k")
    one = {"recipients": [agent.id], "project": "main", "type": "t", "payload": {}}
    answer = agent.post(
        "A/inbox/turn",
        {"publish": [one | {"supersedes_key": "k"}]},
        headers={"Idempotency-Key": "turn"},
    )
    assert answer.status_code == 200, answer.text
    assert agent.get(f"events/{old['event_id']}").json["status"] == "cancelled"


@pytest.mark.parametrize("key", ["", "x" * 201, 7])
def test_what_is_no_key(agent: Caller, key: object) -> None:
    body = {"project": "main", "type": "t", "payload": {}, "supersedes_key": key}
    assert faults(agent.post("A/events", body)) == ["/supersedes_key"]
    assert agent.claim() == []
