"""Assignments: work for whoever is best placed to do it (contract 6.2)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, model_validator

from blueprints import examples
from blueprints.access import any_of
from blueprints.calls import Call, Reply
from blueprints.coordination.blueprint import coordination
from blueprints.coordination.rooms import WRITERS, agent_named
from blueprints.coordination.shown_assignments import ASSIGNMENT, Assignment, shown_assignment
from blueprints.endpoint import Endpoint
from blueprints.fields import (
    Body,
    IdText,
    Payload,
    PositiveSeconds,
    Reason,
    Slug,
    Tidy,
    integral,
    widened,
)
from blueprints.idempotency import once
from extensions import house
from restante.coordination import assignments
from restante.coordination.candidates import CONSIDERED
from restante.coordination.routing import Policy
from restante.errors import (
    EventFinal,
    IdempotencyInFlight,
    IdempotencyKeyReused,
    InboxFull,
    PayloadTooLarge,
    RecipientRefused,
    ValidationFailed,
)
from restante.identity.scopes import TenantScope, Verb
from restante.storage.ids import Prefix, decode_id
from restante.storage.transaction import Session

TAG = "Assignments"
READERS = any_of(Verb.READ, Verb.PUBLISH, TenantScope.EVENTS_READ)
ENDERS = any_of(Verb.PUBLISH, TenantScope.EVENTS_PUBLISH, TenantScope.EVENTS_CANCEL)
LONGEST_UNREAD = 14 * 86_400


class AssignmentBody(Body):
    """What is to be done, and who may be asked."""

    project: Annotated[Slug, Field(description="Whoever does it may claim in this project.")]
    capability: (
        Annotated[Tidy, Field(min_length=1, max_length=128, description="Whoever does it has it.")]
        | None
    ) = None
    candidates: (
        Annotated[
            list[IdText],
            Field(max_length=CONSIDERED, description="Left out: every agent that fits."),
        ]
        | None
    ) = None
    policy: Literal["least_loaded", "sticky", "in_order"] = "least_loaded"
    sticky_key: Annotated[Tidy, Field(min_length=1, max_length=200)] | None = Field(
        None, description="With `sticky`: what has one key goes to one agent."
    )
    payload: Payload
    deadline_seconds: PositiveSeconds | None = Field(
        None, description="It must have been started by then; else it is `expired`."
    )
    unread_timeout_seconds: (
        Annotated[
            float,
            Field(
                gt=0,
                le=LONGEST_UNREAD,
                allow_inf_nan=False,
                description="Not claimed by then, it goes to the next candidate.",
            ),
            BeforeValidator(widened),
        ]
        | None
    ) = None
    max_candidates: Annotated[
        int,
        Field(ge=1, le=CONSIDERED, description="So many may fail before it is `unroutable`."),
        BeforeValidator(integral),
    ] = 2

    @model_validator(mode="after")
    def _sticks(self) -> AssignmentBody:
        if (self.policy == "sticky") != (self.sticky_key is not None):
            raise ValidationFailed.at(
                "/sticky_key", "goes with the policy sticky, and only with it"
            )
        return self


class EndBody(Body):
    """Why."""

    reason: Reason


@Endpoint(
    method="POST",
    access=WRITERS,
    tag=TAG,
    summary="Assign work",
    description="A candidate is chosen and gets a `work_assignment` event, together with the assignment. Its "
    "ack completes the assignment. Who has not read it in time, or fails as often as an event may, is "
    "followed by the next candidate; without one it is `unroutable`.",
    body=AssignmentBody,
    examples={
        "capability": {"project": "main", "capability": "build", "payload": {"ref": "main"}},
        "in order": {
            "project": "main",
            "candidates": [examples.WORKER_ID, examples.AGENT_ID],
            "policy": "in_order",
            "payload": {"ref": "main"},
            "unread_timeout_seconds": 300,
        },
    },
    answer=Assignment,
    answer_examples={"made": ASSIGNMENT},
    status=201,
    problems=(
        RecipientRefused,
        InboxFull,
        PayloadTooLarge,
        IdempotencyKeyReused,
        IdempotencyInFlight,
    ),
    creates=True,
).route(coordination, "/assignments")
def assign(session: Session, call: Call) -> Reply:
    """Choose somebody."""
    asked: AssignmentBody = call.body
    most = house().settings.payload_limit_bytes
    if len(asked.payload.text) > most:
        raise PayloadTooLarge(
            f"A payload may have {most} bytes.", pointer="/payload", limit_bytes=most
        )
    named = None if asked.candidates is None else tuple(map(agent_named, asked.candidates))
    work = assignments.Work(
        project=asked.project,
        payload=asked.payload.text,
        capability=asked.capability,
        candidates=named,
        policy=Policy(asked.policy),
        sticky_key=asked.sticky_key,
        deadline_seconds=asked.deadline_seconds,
        unread_timeout_seconds=asked.unread_timeout_seconds,
        max_candidates=asked.max_candidates,
    )
    return once(
        session,
        call,
        lambda: assignments.assign(session, call.principal, work).hex(),
        render=lambda made: shown_assignment(session, call.principal, bytes.fromhex(made)),
    )


@Endpoint(
    method="GET",
    access=READERS,
    tag=TAG,
    summary="Read an assignment",
    description="For who made it, for the agent that has it, and with `tenant:events:read`.",
    answer=Assignment,
    answer_examples={"one": ASSIGNMENT},
).route(coordination, "/assignments/<assignment_id>")
def read_assignment(session: Session, call: Call) -> Reply:
    """One."""
    return Reply(shown_assignment(session, call.principal, _id(call)))


@Endpoint(
    method="POST",
    access=ENDERS,
    tag=TAG,
    summary="Cancel an assignment",
    description="For who made it, and with `tenant:events:cancel`. Where its event is held, the holder is "
    "asked to stop: 202; any end but its ack cancels it then.",
    body=EndBody,
    examples={"plain": {"reason": "Somebody did it by hand."}},
    answer=Assignment,
    answer_examples={
        "cancelled": {**ASSIGNMENT, "state": "cancelled", "ended_at": examples.LATER},
        "requested": ASSIGNMENT,
    },
    other_statuses={202: ("Its holder is asked to stop.", "requested")},
    problems=(EventFinal,),
).route(coordination, "/assignments/<assignment_id>/cancel")
def cancel_assignment(session: Session, call: Call) -> Reply:
    """No more of it."""
    over = assignments.cancel(session, call.principal, _id(call), call.body.reason)
    return Reply(shown_assignment(session, call.principal, _id(call)), 200 if over else 202)


def _id(call: Call) -> bytes | None:
    return decode_id(Prefix.ASSIGNMENT, call.path["assignment_id"])
