"""Settle one claim, or many at once (contract 5.4, 5.5)."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import model_validator

from blueprints import examples
from blueprints.access import own
from blueprints.agents.blueprint import agents
from blueprints.agents.orders import (
    MOST_ORDERS,
    AckBody,
    NamedAck,
    NamedReject,
    NamedRelease,
    NamedRenew,
    RejectBody,
    ReleaseBody,
    RenewBody,
    check_orders,
)
from blueprints.calls import Call, Reply
from blueprints.endpoint import Endpoint
from blueprints.fields import Answer, Body
from blueprints.problems import members_of
from blueprints.shapes import Problem, Status, WireInstant
from restante.errors import NotFound, RestanteError, StaleClaim
from restante.identity.scopes import Verb
from restante.inbox.orders import Order
from restante.inbox.settle import settle_many, settle_one
from restante.storage.combine import Kind, Sharing
from restante.storage.ids import Prefix, decode_id
from restante.storage.transaction import Session


class Acked(Answer):
    """Completed, now or by the first of these acks."""

    event_id: str
    status: Literal["completed"]
    completed_at: WireInstant
    cancel_requested: Literal[True] | None = None


class Released(Answer):
    """Where the event is now."""

    event_id: str
    status: Status
    not_before: WireInstant | None


class Renewed(Answer):
    """The lease as it is now, and what its holder should know."""

    event_id: str
    status: Literal["claimed"]
    claim_expires_at: WireInstant
    lease_remaining_ms: int
    cancel_requested: bool
    deadline_passed: bool


class SettleBody(Body):
    """Orders for different events."""

    ack: list[NamedAck] | None = None
    release: list[NamedRelease] | None = None
    reject: list[NamedReject] | None = None
    renew: list[NamedRenew] | None = None

    @model_validator(mode="after")
    def _each_once(self) -> SettleBody:
        check_orders(self, "ack", "release", "reject", "renew")
        return self

    def orders(self) -> list[NamedAck | NamedRelease | NamedReject | NamedRenew]:
        """In the order of their results."""
        return [*(self.ack or ()), *(self.release or ()), *(self.reject or ()), *(self.renew or ())]


class SettleResult(Answer):
    """What became of one order: members of its answer, or a problem."""

    event_id: str
    status: Status | None = None
    problem: Problem | None = None
    completed_at: WireInstant | None = None
    not_before: WireInstant | None = None
    claim_expires_at: WireInstant | None = None
    lease_remaining_ms: int | None = None
    cancel_requested: bool | None = None
    deadline_passed: bool | None = None


class Settled(Answer):
    """A result for each: acks, then releases, rejections, renewals, as they were listed."""

    results: list[SettleResult]


_GENERATION = {"claim_generation": 1}


def _shares(call: Call) -> Sharing | None:
    """Acks do: other orders may publish reports, which takes locks of other inboxes."""
    asked, inbox = call.body, call.principal.id
    if isinstance(asked, SettleBody):
        if asked.release or asked.reject or asked.renew:
            return None
        return Sharing(kind=Kind.ACK, order=inbox, events=len(asked.ack or ()), once=inbox)
    return Sharing(kind=Kind.ACK, order=inbox, events=1, once=inbox)


def _settle(session: Session, call: Call) -> Reply:
    return Reply(settle_one(session, call.principal, call.body.order(call.event_id())))


@Endpoint(
    method="POST",
    access=own(Verb.CLAIM),
    tag="Claims",
    summary="Complete a claimed event",
    description="The work is done: the event is final, its payload goes, the result stays. Repeating the "
    "ack that completed it answers the same again.",
    body=AckBody,
    examples={
        "plain": _GENERATION,
        "with a result": {**_GENERATION, "result": {"pull_request": 17}},
    },
    answer=Acked,
    answer_examples={
        "completed": {
            "event_id": examples.EVENT_ID,
            "status": "completed",
            "completed_at": examples.LATER,
        }
    },
    problems=(StaleClaim,),
    shares=_shares,
).route(agents, "/inbox/<event_id>/ack")
def ack_event(session: Session, call: Call) -> Reply:
    """Ack."""
    return _settle(session, call)


@Endpoint(
    method="POST",
    access=own(Verb.CLAIM),
    tag="Claims",
    summary="Give a claimed event back",
    description="With an `error` the attempt has failed and counts; without one it is given back and does "
    "not.",
    body=ReleaseBody,
    examples={
        "plain": _GENERATION,
        "failed": {
            **_GENERATION,
            "delay_seconds": 30,
            "error": {
                "code": "upstream_down",
                "message": "The registry answered 502.",
                "outcome": "none",
            },
        },
    },
    answer=Released,
    answer_examples={
        "delayed": {
            "event_id": examples.EVENT_ID,
            "status": "pending",
            "not_before": examples.LATER,
        }
    },
    problems=(StaleClaim,),
).route(agents, "/inbox/<event_id>/release")
def release_event(session: Session, call: Call) -> Reply:
    """Release."""
    return _settle(session, call)


@Endpoint(
    method="POST",
    access=own(Verb.CLAIM),
    tag="Claims",
    summary="Reject a claimed event",
    description="It can never be done: it goes to quarantine now, whatever attempts are left.",
    body=RejectBody,
    examples={"plain": {**_GENERATION, "reason": "The repository it names is gone."}},
    answer=Released,
    answer_examples={
        "quarantined": {"event_id": examples.EVENT_ID, "status": "quarantined", "not_before": None}
    },
    problems=(StaleClaim,),
).route(agents, "/inbox/<event_id>/reject")
def reject_event(session: Session, call: Call) -> Reply:
    """Reject."""
    return _settle(session, call)


@Endpoint(
    method="POST",
    access=own(Verb.CLAIM),
    tag="Claims",
    summary="Renew a lease",
    description="A claim lasts 24 hours at most in all. The answer says whether somebody asked to cancel "
    "the event.",
    body=RenewBody,
    examples={
        "plain": _GENERATION,
        "with progress": {**_GENERATION, "lease_seconds": 120, "progress": {"step": 3}},
    },
    answer=Renewed,
    answer_examples={
        "renewed": {
            "event_id": examples.EVENT_ID,
            "status": "claimed",
            "claim_expires_at": examples.LATER,
            "lease_remaining_ms": 60000,
            "cancel_requested": False,
            "deadline_passed": False,
        }
    },
    problems=(StaleClaim,),
).route(agents, "/inbox/<event_id>/renew")
def renew_event(session: Session, call: Call) -> Reply:
    """Renew."""
    return _settle(session, call)


@Endpoint(
    method="POST",
    access=own(Verb.CLAIM),
    tag="Claims",
    summary="Settle many at once",
    description=f"Each order stands or falls alone. At most {MOST_ORDERS} events; one named twice refuses "
    "the call.",
    body=SettleBody,
    examples={
        "mixed": {
            "ack": [{"event_id": examples.EVENT_ID, "claim_generation": 1, "result": {"ok": True}}],
            "release": [
                {"event_id": examples.OTHER_EVENT_ID, "claim_generation": 1, "delay_seconds": 5}
            ],
        }
    },
    answer=Settled,
    answer_examples={
        "mixed": {
            "results": [
                {
                    "event_id": examples.EVENT_ID,
                    "status": "completed",
                    "completed_at": examples.LATER,
                },
                {"event_id": examples.OTHER_EVENT_ID, "problem": examples.STALE_PROBLEM},
            ]
        }
    },
    shares=_shares,
).route(agents, "/inbox/settle")
def settle_events(session: Session, call: Call) -> Reply:
    """Settle many."""
    named = call.body.orders()
    raw_ids = [decode_id(Prefix.EVENT, body.event_id) for body in named]
    orders: list[Order] = [
        body.order(raw) for body, raw in zip(named, raw_ids, strict=True) if raw is not None
    ]
    outcomes = iter(settle_many(session, call.principal, orders) if orders else ())
    return Reply(
        {
            "results": [
                _result(body.event_id, NotFound() if raw is None else next(outcomes))
                for body, raw in zip(named, raw_ids, strict=True)
            ]
        }
    )


def _result(event_id: str, outcome: dict[str, Any] | RestanteError) -> dict[str, Any]:
    if isinstance(outcome, RestanteError):
        return {"event_id": event_id, "problem": members_of(outcome)}
    return outcome
