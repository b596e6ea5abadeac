"""Values that the examples of the document share. None of them is anybody's."""

from __future__ import annotations

from typing import Any

AGENT_ID = "agt_0198c5a1f3de7c51a0b2c4d6e8f01234"
WORKER_ID = "agt_0198c5a1f3e17b02b1c3d5e7f9012345"
SERVICE_ID = "svc_0198c5a1f3e47a1392a4b6c8dae1f356"
KEY_ID = "key_0198c5a1f3ea7d35a5b7c9dbed01f468"
CALLBACK_ID = "cb_0198c5a1f3f67d4082a4b6c8dae1f359"
EVENT_ID = "evt_0198c5b27c3d7e408f1a2b3c4d5e6f70"
OTHER_EVENT_ID = "evt_0198c5b27c417d518e0b1c2d3e4f5061"
EPOCH = "0198c5a1f3e87c2493b5d7f9012a4c6e"
CLAIM_ID = "laptop-a-7f3c1d52e9"
CREATED_AT = "2031-05-01T09:30:00.125000Z"
LATER = "2031-05-01T09:31:00.125000Z"

PAYLOAD: dict[str, Any] = {"type": "build.finished", "repository": "acme/site", "passed": True}

EVENT: dict[str, Any] = {
    "event_id": EVENT_ID,
    "sequence_number": 1045,
    "status": "pending",
    "attempts": 0,
    "max_attempts": 5,
    "ordering_sequence": 12,
    "available_at": CREATED_AT,
    "not_before": None,
    "expires_at": None,
    "redriven": False,
    "project": "main",
    "type": "build.finished",
    "priority": 0,
    "correlation_id": "release-2031-05",
    "causation_id": None,
    "reply_to": WORKER_ID,
    "ordering_key": "acme/site",
    "producer": {"kind": "service", "id": SERVICE_ID, "name": "ci", "signed": False},
    "created_at": CREATED_AT,
    "corrects": None,
    "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    "payload": PAYLOAD,
}
CLAIMED_EVENT: dict[str, Any] = {
    **EVENT,
    "status": "claimed",
    "attempts": 1,
    "claim_generation": 1,
    "fence": 31,
    "claim_expires_at": LATER,
    "lease_remaining_ms": 60000,
}
STALE_PROBLEM: dict[str, Any] = {
    "type": "/problems/stale-claim",
    "title": "The claim is not the current one",
    "status": 409,
    "detail": "The claim named is not the current one, or its lease is over: nothing was changed.",
    "reason": "reclaimed",
    "current_generation": 2,
}
