"""Assignments as they are shown: who has the work, how it came to that, and what came of it."""

from __future__ import annotations

from typing import Any, Literal

from orjson import Fragment
from pydantic import Field

from blueprints import examples
from blueprints.fields import Answer
from blueprints.shapes import WireInstant
from restante.coordination import assignments
from restante.coordination.routing import decisions
from restante.identity.principal import Principal
from restante.inbox.envelope import instant
from restante.storage.ids import Prefix, encode_id
from restante.storage.transaction import Session

AssignmentState = Literal["assigned", "completed", "unroutable", "cancelled", "expired"]


class CandidateShown(Answer):
    """An agent as a decision saw it."""

    agent_id: str
    presence: Literal["stream", "poll", "callback", "away"]
    pending: int
    eligible: bool
    why: str | None = Field(description="What speaks against it.")


class Decision(Answer):
    """Who was chosen, of whom, and why."""

    at: WireInstant
    chosen: str | None
    reason: str
    candidates: list[CandidateShown]


class Assignment(Answer):
    """A piece of work, who has it, and what came of it."""

    assignment_id: str
    project: str
    state: AssignmentState
    agent_id: str | None = Field(description="Who has it now, or had it last.")
    event_id: str | None
    policy: Literal["least_loaded", "sticky", "in_order"]
    capability: str | None
    routing: list[Decision]
    result: dict[str, Any] | None
    reason: str | None = Field(description="Why it ended otherwise than by an ack.")
    created_by: str
    created_at: WireInstant
    deadline_at: WireInstant | None
    ended_at: WireInstant | None


ASSIGNMENT: dict[str, Any] = {
    "assignment_id": "asg_0198c5a1f3f37c5184a2b6c8dae1f358",
    "project": "main",
    "state": "assigned",
    "agent_id": examples.WORKER_ID,
    "event_id": examples.EVENT_ID,
    "policy": "least_loaded",
    "capability": "build",
    "routing": [
        {
            "at": examples.CREATED_AT,
            "chosen": examples.WORKER_ID,
            "reason": "least loaded",
            "candidates": [
                {
                    "agent_id": examples.WORKER_ID,
                    "presence": "stream",
                    "pending": 0,
                    "eligible": True,
                    "why": None,
                },
                {
                    "agent_id": examples.AGENT_ID,
                    "presence": "away",
                    "pending": 12,
                    "eligible": False,
                    "why": "is paused",
                },
            ],
        }
    ],
    "result": None,
    "reason": None,
    "created_by": examples.SERVICE_ID,
    "created_at": examples.CREATED_AT,
    "deadline_at": None,
    "ended_at": None,
}


def shown_assignment(
    session: Session, who: Principal, assignment_id: bytes | None
) -> dict[str, Any]:
    """As JSON has it, for one who may see it. Raises NotFound."""
    row = assignments.find_assignment(session, who, assignment_id)
    slugs = {project.id: project.slug for project in who.projects.values()}
    return {
        "assignment_id": encode_id(Prefix.ASSIGNMENT, row.assignment_id),
        "project": slugs[row.project_id],
        "state": row.state,
        "agent_id": row.agent_id and encode_id(Prefix.AGENT, row.agent_id),
        "event_id": row.event_id and encode_id(Prefix.EVENT, row.event_id),
        "policy": row.policy,
        "capability": row.capability,
        "routing": decisions(session, row.assignment_id),
        "result": None if row.result is None else Fragment(row.result),
        "reason": row.reason,
        "created_by": row.created_by,
        "created_at": instant(row.created_at),
        "deadline_at": instant(row.deadline_at),
        "ended_at": instant(row.ended_at),
    }
