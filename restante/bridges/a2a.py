"""Push notifications of A2A (Agent2Agent protocol 1.0, 0.3): what one is about. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

TOKEN_FIELD = "X-A2A-Notification-Token"
KINDS = {
    "task": "task",
    "message": "message",
    "statusUpdate": "status-update",
    "artifactUpdate": "artifact-update",
}
"""The members of a StreamResponse (1.0), and what 0.3 says of the same in `kind`."""
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Notification:
    """`type` of its event; `task`: what its updates have in common, and are worked in order by."""

    type: str
    task: str | None


def notification(value: Mapping[str, Any]) -> Notification | None:
    """What a notification is about; None for what is none.

    1.0 posts a StreamResponse, which has one of four members; 0.3 posts the object itself.
    """
    named = [name for name in KINDS if isinstance(value.get(name), Mapping)]
    if len(named) == 1:
        kind, told = KINDS[named[0]], value[named[0]]
    elif not named and value.get("kind") in KINDS.values():
        kind, told = value["kind"], value
    else:
        return None
    task = told.get("id") if kind == "task" else told.get("taskId") or told.get("contextId")
    if task is not None and not (isinstance(task, str) and 1 <= len(task) <= _LONGEST):
        return None
    return Notification(f"a2a.{kind}", task)
