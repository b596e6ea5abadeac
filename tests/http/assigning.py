"""Who assigns work and who does it, for the tests of assignments."""

from __future__ import annotations

from typing import Any

from tests.http.world import Caller


def assign(by: Caller, *candidates: Caller, **said: Any) -> dict[str, Any]:
    body = {"project": "main", "policy": "in_order", "payload": {"ref": "main"}, **said}
    if candidates:
        body["candidates"] = [c.id for c in candidates]
    answer = by.post("assignments", body)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json
    return made


def read(by: Caller, made: dict[str, Any]) -> dict[str, Any]:
    answer = by.get(f"assignments/{made['assignment_id']}")
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json
    return told


def settle(agent: Caller, verb: str, **said: Any) -> None:
    (event,) = agent.claim()
    path = f"A/inbox/{event['event_id']}/{verb}"
    answer = agent.post(path, {"claim_generation": event["claim_generation"], **said})
    assert answer.status_code == 200, answer.text
