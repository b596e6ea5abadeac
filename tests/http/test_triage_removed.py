"""Quarantined events of agents that are removed: counted apart, never put back, discarded."""

from __future__ import annotations

from tests.http.test_triage import ADMIN, poison, triager
from tests.http.world import Caller, World

__all__ = ["triager"]


def test_what_lies_there_for_a_removed_agent_is_discarded_not_redriven(
    world: World, alice: Caller, bob: Caller, triager: Caller
) -> None:
    ids = poison(alice, bob, "x")
    boss = world.service("acme", "boss", ["tenant:agents:write"])
    assert boss.post(f"{ADMIN}/agents/{alice.id}/remove", {}).status_code == 200
    for more in ({}, {"force": True}, {"merge_patch": {"n": 2}}):
        body = {"filter": {}, "dry_run": True, **more}
        counted = triager.post(f"{ADMIN}/quarantine/redrive", body).json
        assert (counted["matched"], counted["removed"], counted["total"]) == (1, 1, 0)
    amend = {"event_ids": ids, "reason": "r", "amend": {"payload": {}}}
    answer = triager.post(f"{ADMIN}/quarantine/redrive", amend)
    assert answer.status_code == 422
    assert "discard it" in answer.json["errors"][0]["detail"]
    counted = triager.post(f"{ADMIN}/quarantine/discard", {"filter": {}, "dry_run": True}).json
    assert (counted["total"], counted["removed"]) == (1, None)
