"""How many statements the calls that come most often cost, once their caller is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.http.world import Caller, World, open_world
from tests.support.databases import TestDatabase


@pytest.fixture
def world(database: TestDatabase, settings: dict[str, object]) -> Iterator[World]:
    with open_world(database.url, settings) as one:
        # what is known of a caller stays known
        one.house.authority._monotonic = lambda: 1000.0
        yield one


@pytest.mark.parametrize("batch", [1, 20])
def test_the_main_flow_costs_as_little_for_many_as_for_one(
    world: World, alice: Caller, bob: Caller, counted: Callable[[], Any], batch: int
) -> None:
    message = {"project": "main", "payload": {"type": "t"}}
    bob.publish(alice)
    alice.claim()
    with counted() as publishing:
        made = bob.post(f"/api/v1/agents/{alice.id}/events", {"events": [message] * batch})
    assert made.status_code == 201
    with counted() as reading:
        alice.get("A/inbox?limit=50")
    with counted() as claiming:
        events = alice.claim(limit=batch)
    named = [{"event_id": e["event_id"], "claim_generation": 1} for e in events]
    with counted() as acking:
        settled = alice.post("A/inbox/settle", {"ack": named})
    assert [r["status"] for r in settled.json["results"]] == ["completed"] * batch
    with counted() as claiming_nothing:
        assert alice.claim() == []
    # SQLite alone asks once more: it gives numbers by a SELECT and an UPDATE
    once_more = world.house.database.engine.dialect.name == "sqlite"
    assert len(publishing) <= 6 + once_more, publishing
    assert len(reading) <= 4, reading
    assert len(claiming) <= 4, claiming
    assert len(acking) <= 3, acking
    assert len(claiming_nothing) <= 1, claiming_nothing


def test_a_claim_with_a_name_costs_two_more(
    alice: Caller, bob: Caller, counted: Callable[[], Any]
) -> None:
    bob.publish(alice)
    alice.claim(limit=1)
    bob.publish(alice)
    with counted() as claiming:
        assert len(alice.claim(claim_id="a-claim-with-a-name")) == 1
    assert len(claiming) <= 6, claiming


def test_what_never_gets_past_the_edge_costs_none(
    alice: Caller, counted: Callable[[], Any]
) -> None:
    """But an entry in the audit for the first of its kind in a minute."""
    alice.claim()
    alice.get("/api/v1/agents/agt_other/inbox")
    alice.get("A/inbox?projects=other")
    with counted() as refused:
        assert alice.post("A/inbox/claim", {"limit": 0}).status_code == 422
        assert (
            alice.post("A/inbox/claim", data=b"{", content_type="application/json").status_code
            == 400
        )
        assert alice.get("/api/v1/agents/agt_other/inbox").status_code == 404
        assert alice.get("A/inbox?projects=other").status_code == 403
        assert alice.get("A/inbox/evt_nonsense").status_code == 404
        assert alice.get("/problems/stale-claim").status_code == 200
    assert refused == []
