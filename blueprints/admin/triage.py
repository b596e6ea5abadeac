"""What is done to many quarantined events at once: redrive, amend, discard."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from blueprints import examples
from blueprints.admin.blueprint import admin, administrator, having
from blueprints.admin.jobs import DRY_RUN, JOB, PATCH_DRY_RUN, TAG, Job, shown_job
from blueprints.admin.quarantine import GROUP, Narrowing
from blueprints.bodies import RAW
from blueprints.calls import Call, Reply
from blueprints.endpoint import Endpoint
from blueprints.fields import Body, IdText, Payload, Reason, widened
from blueprints.idempotency import once
from extensions import house
from restante.errors import (
    IdempotencyInFlight,
    IdempotencyKeyReused,
    PayloadTooLarge,
    ValidationFailed,
)
from restante.identity.principal import Principal
from restante.identity.roles import Right
from restante.inbox.merge_patch import named_twice
from restante.inbox.triage import jobs
from restante.inbox.triage.jobs import Action, Order
from restante.storage.ids import Prefix, decode_id
from restante.storage.transaction import Session

MOST_IDS = 10_000


class FilterBody(Narrowing, Body):
    """All that is given holds; `{}` means everything that lies in quarantine now."""


class Amendment(Body):
    """What the corrected event says."""

    payload: Payload


class TriageBody(Body):
    """Which events, and why. What a dry run counts needs no reason."""

    filter: FilterBody | None = None
    event_ids: Annotated[list[IdText], Field(min_length=1, max_length=MOST_IDS)] | None = None
    reason: Reason | None = Field(
        None, description="Kept with each event; needed but for a dry run."
    )
    dry_run: bool = Field(False, description="Count, and change nothing.")
    force: bool = Field(
        False, description="Also what would run late, or twice: see `later_settled` in the answer."
    )
    stagger_seconds: Annotated[
        float,
        Field(ge=0, le=3600, allow_inf_nan=False, description="Pause between two events."),
        BeforeValidator(widened),
    ] = 0.0

    @model_validator(mode="after")
    def _complete(self) -> TriageBody:
        if (self.filter is None) == (self.event_ids is None):
            raise PydanticCustomError("one_of", "give one of filter and event_ids: what is meant")
        if self.reason is None and not self.dry_run:
            raise ValidationFailed.at("/reason", "is needed: it is kept with each event")
        return self

    def order(self, action: Action, principal: Principal, **more: Any) -> Order:
        """For the engine."""
        if self.filter is not None:
            chosen: Any = self.filter.filter(principal)
        else:
            chosen = [decode_id(Prefix.EVENT, named) for named in self.event_ids or ()]
        return Order(
            action=action,
            chosen=chosen,
            reason=self.reason or "",
            force=self.force,
            stagger_seconds=self.stagger_seconds,
            **more,
        )


class RedriveBody(TriageBody):
    """Which events are put back, and why."""

    raw_members: ClassVar[frozenset[str]] = RAW | {"merge_patch"}

    amend: Amendment | None = Field(
        None,
        description="Publish one event anew with this payload, `corrects` naming the old one, which is "
        "discarded: with one `event_ids` alone.",
    )

    merge_patch: Payload | None = Field(
        None,
        description="Amend each by a JSON Merge Patch (RFC 7396) of its payload: an event anew, `corrects` "
        "naming the old one, which is discarded. What it does not fit or change is passed over and "
        "counted. Not with `amend`.",
    )

    canary: bool = Field(
        False,
        description="One first; the rest once it is completed. They stay where it fails once more, or is "
        "not completed within ten minutes.",
    )

    @model_validator(mode="after")
    def _one_amended(self) -> RedriveBody:
        if self.amend is not None and len(self.event_ids or ()) != 1:
            raise ValidationFailed.at("/amend", "is for one event: name it alone in event_ids")
        if self.amend is not None and self.merge_patch is not None:
            raise ValidationFailed.at("/merge_patch", "goes with no amend: each says what changes")
        return self


WANTED: dict[str, Any] = {
    "filter": {"failure_signature": GROUP["failure_signature"]},
    "reason": JOB["reason"],
}
ANSWERS = {"made": JOB, "dry_run": DRY_RUN, "dry_run_of_a_patch": PATCH_DRY_RUN}
PROBLEMS = (IdempotencyKeyReused, IdempotencyInFlight, PayloadTooLarge)


@Endpoint(
    method="POST",
    access=having(Right.EVENTS_REDRIVE),
    tag=TAG,
    summary="Redrive quarantined events",
    description="They keep id, sequence and generation, have a new attempt budget and go in sequence order. "
    "A dry run answers 200 with what would go.",
    body=RedriveBody,
    examples={
        "group": WANTED,
        "dry_run": {"filter": {}, "dry_run": True},
        "one_first": {**WANTED, "canary": True, "stagger_seconds": 0.05},
        "amend": {
            "event_ids": [examples.EVENT_ID],
            "reason": JOB["reason"],
            "amend": {"payload": {"type": "build.finished", "currency": "EUR"}},
        },
        "merge_patch": {**WANTED, "merge_patch": {"currency": "EUR", "price": None}},
    },
    answer=Job,
    answer_examples=ANSWERS,
    status=202,
    other_statuses={200: ("It was a dry run.", "dry_run")},
    problems=PROBLEMS,
    creates=True,
).route(admin, "/quarantine/redrive")
def redrive_many(session: Session, call: Call) -> Reply:
    """Put back, or corrected."""
    asked: RedriveBody = call.body
    action, more = Action.REDRIVE, dict[str, Any](canary=asked.canary)
    if asked.amend is not None:
        payload = _fitting(asked.amend.payload.text, "/amend/payload")
        action, more = Action.AMEND, {"amended_payload": payload}
    elif asked.merge_patch is not None:
        action, more["merge_patch"] = Action.PATCH, _fitting(asked.merge_patch.text, "/merge_patch")
        if (name := named_twice(more["merge_patch"])) is not None:
            raise ValidationFailed.at("/merge_patch", f"names {name[:64]!r} twice in one object")
    return _carry_out(session, call, asked.order(action, call.principal, **more))


@Endpoint(
    method="POST",
    access=having(Right.EVENTS_DISCARD),
    tag=TAG,
    summary="Discard quarantined events",
    description="They are cancelled; their payloads are kept until they are archived. A dry run answers 200 "
    "with what would go.",
    body=TriageBody,
    examples={"group": WANTED, "dry_run": {"filter": {}, "dry_run": True}},
    answer=Job,
    answer_examples=ANSWERS,
    status=202,
    other_statuses={200: ("It was a dry run.", "dry_run")},
    problems=PROBLEMS,
    creates=True,
).route(admin, "/quarantine/discard")
def discard_many(session: Session, call: Call) -> Reply:
    """Given up."""
    return _carry_out(session, call, call.body.order(Action.DISCARD, call.principal))


def _fitting(text: bytes, pointer: str) -> bytes:
    most = house().settings.payload_limit_bytes
    if len(text) > most:
        raise PayloadTooLarge(
            f"A payload may have {most} bytes.", pointer=pointer, limit_bytes=most
        )
    return text


def _carry_out(session: Session, call: Call, order: Order) -> Reply:
    """Count it, or make the job; a repeat with the same Idempotency-Key answers with that job."""
    who = administrator(call)
    if call.body.dry_run:
        return Reply(shown_job(jobs.count(session, who, order)))
    return once(
        session,
        call,
        lambda: jobs.start(session, who, order).hex(),
        render=lambda made: shown_job(jobs.read(session, who, bytes.fromhex(made))),
        status=202,
    )
