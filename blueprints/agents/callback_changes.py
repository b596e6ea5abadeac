"""What an agent does about a callback that is there: challenged again, changed, removed."""

from __future__ import annotations

from typing import Literal

from blueprints import examples
from blueprints.agents.blueprint import agents
from blueprints.agents.callbacks import (
    ACCESS,
    CHALLENGING,
    InFlight,
    Projects,
    judged_or_noted,
    named_projects,
    unique,
)
from blueprints.callbacks import CALLBACK, TAG, OneCallback, shown
from blueprints.calls import Call, Reply
from blueprints.endpoint import Endpoint
from blueprints.fields import Answer, Body
from blueprints.idempotency import refuse_key
from blueprints.origins import origin_of
from blueprints.shapes import WireInstant
from extensions import house
from restante.errors import ValidationFailed
from restante.inbox.envelope import instant
from restante.storage.transaction import Session
from restante.webhooks import registration
from restante.webhooks.callbacks import Callback, Mode, raw_id
from restante.webhooks.registration import Wanted, judged


class CallbackChange(Body):
    """Those named are set, the others stay. `projects` null: all that the agent is granted."""

    url: str | None = None
    mode: Literal["notify", "deliver"] | None = None
    projects: Projects | None = None
    max_in_flight: InFlight | None = None


class CallbackSecret(Body):
    """The secret after this."""

    secret: str


class ChangedSecret(Answer):
    """From when on the newest signs; the one before it signs besides for a day."""

    callback_id: str
    changed_at: WireInstant


class RemovedCallback(Answer):
    """Nothing goes out to it any more."""

    callback_id: str
    status: Literal["removed"]


@Endpoint(
    method="POST",
    access=ACCESS,
    tag=TAG,
    summary="Challenge a callback again",
    description="As at its registration, with the newest secret. Right: one that waited for it waits for "
    "approval now; one that is active or suspended stays that.",
    answer=OneCallback,
    answer_examples={"challenged": CALLBACK},
    problems=CHALLENGING,
).route_calling_out(agents, "/callbacks/<callback_id>/challenge")
def challenge_callback(call: Call) -> Reply:
    """Again."""
    found = house().challenger.again(
        call.principal,
        raw_id(call.path["callback_id"]),
        by=origin_of(call.request, call.principal),
    )
    return Reply(shown(found))


@Endpoint(
    method="PATCH",
    access=ACCESS,
    tag=TAG,
    summary="Change a callback",
    description="Another `url`, `mode` or other `projects` start over: it is challenged at once, and waits "
    "for approval again; nothing goes out meanwhile. A failed challenge leaves it `challenge_failed`, "
    "changed. `max_in_flight` alone is just set.",
    body=CallbackChange,
    examples={
        "another address": {"url": "https://hooks.example.com/v2"},
        "less at once": {"max_in_flight": 2},
    },
    answer=OneCallback,
    answer_examples={"changed": CALLBACK},
    problems=CHALLENGING,
).route_calling_out(agents, "/callbacks/<callback_id>")
def change_callback(call: Call) -> Reply:
    """Another one under the same id."""
    body: CallbackChange = call.body
    if not body.model_fields_set:
        raise ValidationFailed.at(
            "", "names nothing to change; give url, mode, projects or max_in_flight"
        )
    for name in body.model_fields_set - {"projects"}:
        if getattr(body, name) is None:
            raise ValidationFailed.at(f"/{name}", "must not be null; leave it out, and it stays")
    if "projects" in body.model_fields_set:
        named_projects(call, body.projects)
    target = None if body.url is None else judged_or_noted(call, body.url)
    policy = house().challenger.policy

    def changed(found: Callback) -> Wanted:
        return Wanted(
            target or judged(found.url, policy),
            found.mode if body.mode is None else Mode(body.mode),
            unique(body.projects) if "projects" in body.model_fields_set else found.projects,
            found.max_in_flight if body.max_in_flight is None else body.max_in_flight,
        )

    by = origin_of(call.request, call.principal)
    found = house().challenger.change(call.principal, call.path["callback_id"], changed, by=by)
    return Reply(shown(found))


@Endpoint(
    method="POST",
    access=ACCESS,
    tag=TAG,
    summary="Change a callback's secret",
    description="Deliveries are signed with both for a day, a challenge is answered with this one. No "
    "Idempotency-Key: the body is a secret.",
    body=CallbackSecret,
    examples={"plain": {"secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwXR5Cd5rDEPk="}},
    answer=ChangedSecret,
    answer_examples={
        "changed": {"callback_id": examples.CALLBACK_ID, "changed_at": examples.LATER}
    },
).route(agents, "/callbacks/<callback_id>/secret")
def change_callback_secret(session: Session, call: Call) -> Reply:
    """Another one."""
    refuse_key(call)
    at = registration.change_secret(
        session,
        call.principal,
        raw_id(call.path["callback_id"]),
        house().challenger.secrets,
        secret=call.body.secret,
        by=origin_of(call.request, call.principal),
    )
    return Reply({"callback_id": call.path["callback_id"], "changed_at": instant(at)})


@Endpoint(
    method="DELETE",
    access=ACCESS,
    tag=TAG,
    summary="Remove a callback",
    description="For good: no delivery begins any more, its secrets are deleted, and what it had not "
    "delivered waits to be pulled.",
    answer=RemovedCallback,
    answer_examples={"removed": {"callback_id": examples.CALLBACK_ID, "status": "removed"}},
).route(agents, "/callbacks/<callback_id>")
def remove_callback(session: Session, call: Call) -> Reply:
    """For good."""
    raw, by = raw_id(call.path["callback_id"]), origin_of(call.request, call.principal)
    registration.remove(session, call.principal, raw, by=by)
    return Reply({"callback_id": call.path["callback_id"], "status": "removed"})
