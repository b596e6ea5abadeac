"""The callbacks of a tenant, and what administrators decide about them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from blueprints.admin.blueprint import admin, administrator, having
from blueprints.callback_attempts import attempts_endpoint, shown_page
from blueprints.callbacks import (
    ADMINISTERED,
    AdministeredCallback,
    CallbackStatus,
    administered,
)
from blueprints.calls import Call, Reply
from blueprints.endpoint import Endpoint
from blueprints.fields import Answer, Body, ListQuery, SaysWhy
from extensions import house
from restante.errors import CallbackConflict, CallbackRefused, ChallengeFailed, PageTokenInvalid
from restante.identity.roles import Right
from restante.storage.transaction import Session
from restante.webhooks.approval import REASON_CHARACTERS, decide
from restante.webhooks.attempts_list import list_attempts
from restante.webhooks.callbacks import list_all, read_one
from restante.webhooks.states import Status, Step

TAG = "Administration"


class Decision(Body):
    """Why; it is in the audit, and the agent reads it."""

    reason: Annotated[SaysWhy, Field(min_length=1, max_length=REASON_CHARACTERS)]


class CallbacksQuery(ListQuery):
    """Which callbacks."""

    status: CallbackStatus | None = Field(
        default=None, description="Left out: all that are not removed."
    )


class TenantCallbacks(Answer):
    """A page of callbacks, oldest first."""

    callbacks: list[AdministeredCallback]
    next_page_token: str | None


@Endpoint(
    method="GET",
    access=having(Right.CALLBACKS_READ),
    tag=TAG,
    summary="List callbacks",
    description="Those of all agents, with what their challenges saw: the class of the address (never the "
    "address), the names of the certificate and its end, how long it took.",
    query=CallbacksQuery,
    answer=TenantCallbacks,
    answer_examples={"one": {"callbacks": [ADMINISTERED], "next_page_token": None}},
    problems=(PageTokenInvalid,),
).route(admin, "/callbacks")
def list_tenant_callbacks(session: Session, call: Call) -> Reply:
    """A page of them."""
    asked: CallbacksQuery = call.query
    page = list_all(
        session,
        administrator(call),
        limit=asked.limit,
        token=asked.page_token,
        status=None if asked.status is None else Status(asked.status),
    )
    told = list(map(administered, page.callbacks))
    return Reply({"callbacks": told, "next_page_token": page.next_page_token})


@Endpoint(
    method="GET",
    access=having(Right.CALLBACKS_READ),
    tag=TAG,
    summary="Read a callback",
    description="How it stands, and what its challenge saw.",
    answer=AdministeredCallback,
    answer_examples={"one": ADMINISTERED},
).route(admin, "/callbacks/<callback_id>")
def read_tenant_callback(session: Session, call: Call) -> Reply:
    """One."""
    return Reply(administered(read_one(session, administrator(call), call.path["callback_id"])))


@attempts_endpoint(having(Right.CALLBACKS_READ), TAG).route(
    admin, "/callbacks/<callback_id>/attempts"
)
def list_tenant_attempts(session: Session, call: Call) -> Reply:
    """A page of them."""
    asked: ListQuery = call.query
    who, callback_id = administrator(call), call.path["callback_id"]
    page = list_attempts(session, who, callback_id, limit=asked.limit, token=asked.page_token)
    return Reply(shown_page(page))


def _endpoint(
    summary: str, description: str, *problems: type[CallbackRefused | ChallengeFailed], **shown: Any
) -> Endpoint:
    return Endpoint(
        method="POST",
        access=having(Right.CALLBACKS_WRITE),
        tag=TAG,
        summary=summary,
        description=f"{description} Repeating it changes nothing.",
        body=Decision,
        examples={"plain": {"reason": "agreed with the owner of hooks.example.com"}},
        answer=AdministeredCallback,
        answer_examples={"done": {**ADMINISTERED, **shown}},
        problems=(*problems, CallbackConflict),
    )


@_endpoint(
    "Approve a callback",
    "One that has answered its challenge becomes active. Its URL is judged again, by all addresses of its "
    "name. Of the callbacks with mode `deliver` one per agent and project may be active.",
    CallbackRefused,
    ChallengeFailed,
    status="active",
).route_calling_out(admin, "/callbacks/<callback_id>/approve")
def approve_callback(call: Call) -> Reply:
    """It may be told and given things from now on."""
    return _activate(call, Step.APPROVE)


@_endpoint(
    "Have a suspended callback go on",
    "It is active again, and begins with one thing at a time. It is challenged at once, which counts as one "
    "of its host's ten an hour, unless its last challenge was answered rightly within the hour.",
    CallbackRefused,
    ChallengeFailed,
    status="active",
).route_calling_out(admin, "/callbacks/<callback_id>/resume")
def resume_callback(call: Call) -> Reply:
    """Again."""
    return _activate(call, Step.RESUME)


@_endpoint(
    "Reject a callback",
    "Nothing goes out to it. Its agent may change it, which starts over, or remove it.",
    status="rejected",
).route(admin, "/callbacks/<callback_id>/reject")
def reject_callback(session: Session, call: Call) -> Reply:
    """No."""
    return _decide(session, call, Step.REJECT)


@_endpoint(
    "Suspend a callback",
    "No delivery begins until it is resumed. Its agent's events wait to be pulled.",
    status="suspended",
).route(admin, "/callbacks/<callback_id>/suspend")
def suspend_callback(session: Session, call: Call) -> Reply:
    """Not now."""
    return _decide(session, call, Step.SUSPEND)


def _decide(session: Session, call: Call, step: Step) -> Reply:
    body: Decision = call.body
    changed = decide(
        session, administrator(call), call.path["callback_id"], step, reason=body.reason
    )
    return Reply(administered(changed))


def _activate(call: Call, step: Step) -> Reply:
    body: Decision = call.body
    changed = house().challenger.activate(
        administrator(call), call.path["callback_id"], step, reason=body.reason
    )
    return Reply(administered(changed))
