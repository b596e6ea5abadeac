"""An agent's callbacks (contract 5.10): registered, challenged, changed, removed."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from blueprints.access import own
from blueprints.agents.blueprint import agents
from blueprints.bodies import idempotency_key
from blueprints.callback_attempts import attempts_endpoint, shown_page
from blueprints.callbacks import CALLBACK, TAG, OneCallback, shown
from blueprints.calls import NO_STORE, Call, Reply
from blueprints.endpoint import Endpoint
from blueprints.fields import Answer, Body, ListQuery, Slug, integral
from blueprints.idempotency import REPLAYED
from blueprints.origins import origin_of
from blueprints.refused_calls import target_of
from extensions import house
from restante.audit.actions import Action
from restante.egress.url import Target
from restante.errors import (
    CallbackConflict,
    CallbackRefused,
    ChallengeFailed,
    PageTokenInvalid,
)
from restante.identity.request_refusals import RefusedCall
from restante.identity.scopes import Verb
from restante.inbox.idempotency import request_hash
from restante.storage.transaction import Session
from restante.webhooks.attempts_list import list_own_attempts
from restante.webhooks.callbacks import Mode, find_callback, list_own
from restante.webhooks.challenger import Key
from restante.webhooks.registration import (
    IN_FLIGHT,
    MOST_IN_FLIGHT,
    Wanted,
    judged,
    why_refused,
)

ACCESS = own(Verb.CALLBACK)
MOST_PROJECTS = 50
Projects = Annotated[list[Slug], Field(min_length=1, max_length=MOST_PROJECTS)]
InFlight = Annotated[int, Field(ge=1, le=MOST_IN_FLIGHT), BeforeValidator(integral)]
CHALLENGING = (CallbackRefused, ChallengeFailed, CallbackConflict)


class CallbackUrl(Body):
    """A URL to be judged."""

    url: str


class CallbackBody(Body):
    """Where to, and what for. `secret`: at least 32 bytes; one that begins with whsec_ as base64."""

    url: str
    secret: str
    mode: Literal["notify", "deliver"]
    projects: Projects | None = None
    max_in_flight: InFlight | None = None


class AllowedUrl(Answer):
    """Its text does not refuse it."""

    allowed: Literal[True]


class OwnCallbacks(Answer):
    """A page of callbacks, oldest first."""

    callbacks: list[OneCallback]
    next_page_token: str | None


@Endpoint(
    method="POST",
    access=ACCESS,
    tag=TAG,
    summary="Check a URL",
    description="Whether a URL would be taken, judged by its text alone: nothing is looked up and nobody is "
    "called.",
    body=CallbackUrl,
    examples={"plain": {"url": "https://hooks.example.com/restante"}},
    answer=AllowedUrl,
    answer_examples={"allowed": {"allowed": True}},
    problems=(CallbackRefused,),
).route(agents, "/callbacks/check")
def check_callback(session: Session, call: Call) -> Reply:
    """By its text."""
    judged(call.body.url, house().challenger.policy)
    return Reply({"allowed": True})


@Endpoint(
    method="POST",
    access=ACCESS,
    tag=TAG,
    summary="Register a callback",
    description="The receiver is challenged at once: it is posted `{type: callback_challenge, callback_id, "
    "challenge, expires_at}` and answers 200 with `{challenge_response}`, the lower-case hex of "
    "HMAC-SHA256(secret, challenge), within 5 s. Right: it waits for approval by an administrator. Wrong: "
    "422 `challenge-failed`, and it is there, to be challenged again. Ten challenges an hour go to a host. "
    "`notify` tells that something is there, `deliver` claims events and posts them.",
    body=CallbackBody,
    examples={
        "plain": {
            "url": "https://hooks.example.com/restante",
            "secret": "whsec_C2FVsBQIhrscChlQIMV+b5sSYYsooboDXR5Cd5rDEPg=",
            "mode": "notify",
        },
        "all": {
            "url": "https://hooks.example.com/restante",
            "secret": "whsec_C2FVsBQIhrscChlQIMV+b5sSYYsooboDXR5Cd5rDEPg=",
            "mode": "deliver",
            "projects": ["main"],
            "max_in_flight": 5,
        },
    },
    answer=OneCallback,
    answer_examples={"registered": CALLBACK},
    status=201,
    problems=CHALLENGING,
    creates=True,
).route_calling_out(agents, "/callbacks")
def register_callback(call: Call) -> Reply:
    """A new one."""
    body: CallbackBody = call.body
    challenger = house().challenger
    projects = named_projects(call, body.projects)
    wanted = Wanted(
        judged_or_noted(call, body.url),
        Mode(body.mode),
        projects,
        body.max_in_flight or IN_FLIGHT,
    )
    given = idempotency_key(call.request)
    key = None
    if given is not None:
        key = Key(given, request_hash(call.request.method, call.request.path, call.text))
    made, replayed = challenger.register(
        call.principal,
        wanted,
        secret=body.secret,
        by=origin_of(call.request, call.principal),
        key=key,
    )
    return Reply(shown(made), 201, REPLAYED if replayed else NO_STORE)


@Endpoint(
    method="GET",
    access=ACCESS,
    tag=TAG,
    summary="List callbacks",
    description="The agent's callbacks that are not removed, without their secrets.",
    query=ListQuery,
    answer=OwnCallbacks,
    answer_examples={"one": {"callbacks": [CALLBACK], "next_page_token": None}},
    problems=(PageTokenInvalid,),
).route(agents, "/callbacks")
def list_callbacks(session: Session, call: Call) -> Reply:
    """A page of them."""
    asked: ListQuery = call.query
    page = list_own(session, call.principal, limit=asked.limit, token=asked.page_token)
    return Reply(
        {"callbacks": list(map(shown, page.callbacks)), "next_page_token": page.next_page_token}
    )


@Endpoint(
    method="GET",
    access=ACCESS,
    tag=TAG,
    summary="Read a callback",
    description="How it stands, without its secrets.",
    answer=OneCallback,
    answer_examples={"one": CALLBACK},
).route(agents, "/callbacks/<callback_id>")
def read_callback(session: Session, call: Call) -> Reply:
    """One."""
    agent = call.principal
    found = find_callback(session, agent.tenant_id, call.path["callback_id"], agent_id=agent.id)
    return Reply(shown(found))


@attempts_endpoint(ACCESS, TAG).route(agents, "/callbacks/<callback_id>/attempts")
def list_callback_attempts(session: Session, call: Call) -> Reply:
    """A page of them."""
    asked: ListQuery = call.query
    agent, callback_id = call.principal, call.path["callback_id"]
    page = list_own_attempts(session, agent, callback_id, limit=asked.limit, token=asked.page_token)
    return Reply(shown_page(page))


def named_projects(call: Call, slugs: list[str] | None) -> tuple[str, ...] | None:
    """Those named, each once; InsufficientScope for one that the token does not cover."""
    for slug in slugs or ():
        call.principal.require(Verb.CALLBACK, slug)
    return unique(slugs)


def unique(slugs: list[str] | None) -> tuple[str, ...] | None:
    return None if slugs is None else tuple(dict.fromkeys(slugs))


def judged_or_noted(call: Call, url: str) -> Target:
    """The URL in its one spelling; one that is refused is in the audit, with the rule.

    As other refusals are: once a minute for each caller and rule, so that nobody can fill it.
    """
    here = house()
    try:
        return judged(url, here.challenger.policy)
    except CallbackRefused as refused:
        by, who = origin_of(call.request, call.principal), call.principal.public_id
        why, route = why_refused(refused), target_of(call.request)
        action = Action.CALLBACK_REGISTER
        here.refusals.note(RefusedCall(by, who, kind=why, target=route, why=why, action=action))
        raise
