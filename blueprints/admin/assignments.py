"""Assignments as administrators have them: who has the work is decided anew."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from blueprints import examples
from blueprints.admin.blueprint import admin, administrator, having
from blueprints.calls import Call, Reply
from blueprints.coordination.shown_assignments import ASSIGNMENT, Assignment, shown_assignment
from blueprints.endpoint import Endpoint
from blueprints.fields import Body, IdText, Reason
from blueprints.idempotency import once
from restante.coordination.reassigning import reassign
from restante.errors import EventFinal, IdempotencyInFlight, IdempotencyKeyReused
from restante.identity.roles import Right
from restante.storage.ids import Prefix, decode_id
from restante.storage.transaction import Session

NOBODY = bytes(16)


class ReassignBody(Body):
    """To whom, and why."""

    agent_id: IdText | None = Field(
        None,
        description="Who gets it: any agent that may claim in the project, is active and has room. Left "
        "out: its policy chooses of those that have not had it.",
    )
    reason: Reason
    force: bool = Field(
        False,
        description="Also while it is claimed: the holder is asked to stop, and may have finished before "
        "he learns of it. What he acks then is no concern of the assignment.",
    )


_FIRST: dict[str, Any] = ASSIGNMENT["routing"][0]
REASSIGNED = {
    **ASSIGNMENT,
    "agent_id": examples.AGENT_ID,
    "routing": [
        _FIRST,
        {
            **_FIRST,
            "at": examples.LATER,
            "chosen": examples.AGENT_ID,
            "reason": "reassigned: chosen by hand",
        },
    ],
}


@Endpoint(
    method="POST",
    access=having(Right.ASSIGNMENTS_REASSIGN),
    tag="Assignments",
    summary="Reassign an assignment",
    description="One that is `assigned` or `unroutable` is routed anew, and may fail with `max_candidates` "
    "again. The event it had is cancelled in the same transaction; one in quarantine stays there, "
    "`superseded_by` the new one. Where nobody gets it, nothing changes: 422. Needs "
    "`tenant:events:cancel` as well.",
    body=ReassignBody,
    examples={
        "by its policy": {"reason": "The builder is gone for the week."},
        "by hand": {"agent_id": examples.AGENT_ID, "reason": "He asked for it."},
    },
    answer=Assignment,
    answer_examples={"reassigned": REASSIGNED},
    problems=(EventFinal, IdempotencyKeyReused, IdempotencyInFlight),
    creates=True,
).route(admin, "/assignments/<assignment_id>/reassign")
def reassign_one(session: Session, call: Call) -> Reply:
    """To somebody else."""
    asked: ReassignBody = call.body
    assignment_id = decode_id(Prefix.ASSIGNMENT, call.path["assignment_id"])
    named = asked.agent_id
    agent_id = None if named is None else decode_id(Prefix.AGENT, named) or NOBODY
    return once(
        session,
        call,
        lambda: reassign(
            session,
            administrator(call),
            assignment_id,
            reason=asked.reason,
            agent_id=agent_id,
            force=asked.force,
        ).hex(),
        render=lambda _: shown_assignment(session, call.principal, assignment_id),
        status=200,
    )
