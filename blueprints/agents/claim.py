"""Claim, and what is claimed (contract 5.3)."""

from __future__ import annotations

from typing import Annotated, Literal

from orjson import Fragment
from pydantic import Field

from blueprints import examples
from blueprints.access import own
from blueprints.agents.blueprint import agents, asked_projects
from blueprints.bodies import traceparent
from blueprints.calls import Call, Reply
from blueprints.endpoint import Endpoint
from blueprints.fields import (
    Answer,
    Body,
    Consumer,
    Cursor,
    Epoch,
    LeaseSeconds,
    Limit,
    Query,
    Slug,
    Tidy,
    WaitSeconds,
)
from blueprints.shapes import ClaimedEvent
from restante.errors import CursorGone
from restante.identity.scopes import Verb
from restante.inbox.claim import ClaimRequest, claim
from restante.inbox.claim_id import live_events
from restante.inbox.rules import rules
from restante.inbox.settle import release_consumer
from restante.storage.clock import database_now
from restante.storage.combine import Kind, Sharing
from restante.storage.transaction import Session


class ClaimBody(Body):
    """How much to take, for how long."""

    limit: Limit = 10
    lease_seconds: LeaseSeconds | None = None
    consumer: Consumer | None = None
    claim_id: (
        Annotated[
            Tidy,
            Field(
                min_length=16,
                max_length=64,
                description="New for every claim; repeat it to repeat.",
            ),
        ]
        | None
    ) = None
    projects: (
        Annotated[
            list[Slug],
            Field(min_length=1, max_length=50, description="Left out: all that are covered."),
        ]
        | None
    ) = None
    wait_seconds: WaitSeconds = 0
    after_cursor: (
        Annotated[
            Cursor,
            Field(description="How far the agent has read: filters nothing, 410 where it is gone."),
        ]
        | None
    ) = None
    epoch: Epoch | None = None


class Claim(Answer):
    """What was claimed."""

    events: list[ClaimedEvent]
    claim_id: str
    claimable: int = Field(description="How many more could be claimed now, counted to 100.")
    next_poll_ms: int
    reason: Literal["paused", "in_flight"] | None = None
    spent: bool = False


class ConsumerQuery(Query):
    """Whose claims."""

    consumer: Consumer | None = None


class LiveClaims(Answer):
    """Every live lease, with payloads."""

    events: list[ClaimedEvent]


class ConsumerBody(Body):
    """Whose claims to give back."""

    consumer: Consumer


class ReleasedClaims(Answer):
    """How many were given back."""

    released: int


def _shares(call: Call) -> Sharing:
    inbox = call.principal.id
    return Sharing(kind=Kind.CLAIM, order=inbox, events=call.body.limit, once=inbox)


@Endpoint(
    method="POST",
    access=own(Verb.CLAIM),
    tag="Claims",
    summary="Claim events under a lease",
    description="The best claimable events of the covered projects: highest priority first, then lowest "
    "sequence. Two claimers at once get disjoint events. Repeating a `claim_id` returns what that claim "
    "still holds and claims nothing.",
    body=ClaimBody,
    examples={
        "plain": {"limit": 10, "lease_seconds": 60},
        "repeatable": {
            "limit": 1,
            "consumer": "laptop-a",
            "claim_id": examples.CLAIM_ID,
            "wait_seconds": 20,
        },
    },
    answer=Claim,
    answer_examples={
        "claimed": {
            "events": [examples.CLAIMED_EVENT],
            "claim_id": examples.CLAIM_ID,
            "claimable": 2,
            "next_poll_ms": 1043,
        },
        "nothing": {
            "events": [],
            "claim_id": examples.CLAIM_ID,
            "claimable": 0,
            "next_poll_ms": 9120,
        },
    },
    problems=(CursorGone,),
    wait_seconds=lambda call: call.body.wait_seconds,
    traced=True,
    shares=_shares,
    cloud_events=True,
).route(agents, "/inbox/claim")
def claim_events(session: Session, call: Call) -> Reply:
    """Claim."""
    asked: ClaimBody = call.body
    claimed = claim(
        session,
        call.principal,
        ClaimRequest(
            projects=asked_projects(call.principal, Verb.CLAIM, asked.projects),
            limit=asked.limit,
            lease_seconds=asked.lease_seconds or rules(session).lease_seconds,
            consumer=asked.consumer,
            claim_id=asked.claim_id,
            after_cursor=asked.after_cursor,
            epoch=asked.epoch,
            traceparent=traceparent(call.request),
        ),
    )
    content = {
        "events": [Fragment(event) for event in claimed.events],
        "claim_id": claimed.claim_id,
        "claimable": claimed.claimable,
        "next_poll_ms": claimed.next_poll_ms,
    }
    if claimed.reason is not None:
        content["reason"] = claimed.reason
    if claimed.spent:
        content["spent"] = True
    return Reply(content, empty=not (claimed.events or claimed.spent or claimed.reason))


@Endpoint(
    method="GET",
    access=own(Verb.CLAIM),
    tag="Claims",
    summary="List live claims",
    description="The events under a live lease of this agent, or of one of its consumers, with their "
    "payloads: what a process that restarts goes on with.",
    query=ConsumerQuery,
    answer=LiveClaims,
    answer_examples={"one": {"events": [examples.CLAIMED_EVENT]}},
    cloud_events=True,
).route(agents, "/inbox/claims")
def list_claims(session: Session, call: Call) -> Reply:
    """Live leases."""
    agent = call.principal
    events = live_events(
        session,
        agent.id,
        agent.require_any(Verb.CLAIM),
        database_now(session),
        consumer=call.query.consumer,
    )
    return Reply({"events": [Fragment(event) for event in events]})


@Endpoint(
    method="POST",
    access=own(Verb.CLAIM),
    tag="Claims",
    summary="Give back all that a consumer holds",
    description="Releases every live claim of one consumer, without an error and at once.",
    body=ConsumerBody,
    examples={"consumer": {"consumer": "laptop-a"}},
    answer=ReleasedClaims,
    answer_examples={"three": {"released": 3}},
).route(agents, "/inbox/release")
def release_claims(session: Session, call: Call) -> Reply:
    """Release all of a consumer."""
    return Reply({"released": release_consumer(session, call.principal, call.body.consumer)})
