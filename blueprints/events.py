"""Publish, and what became of what one has published (contract 6.1)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from flask import Blueprint
from pydantic import Field, model_validator

from blueprints import examples, publishing
from blueprints.access import any_of
from blueprints.calls import Call, Reply
from blueprints.cloud_events import AddressedCloudEvent, taking
from blueprints.endpoint import Endpoint
from blueprints.fields import Answer, Body, IdText, PageToken, Query, QueryLimit, Reason
from blueprints.publications import AddressedMessage, PublishBody
from blueprints.shapes import LastError, Producer, Status, WireInstant
from restante.errors import EventFinal, PageTokenInvalid, ValidationFailed
from restante.identity.scopes import TenantScope, Verb
from restante.inbox.cancel import CANCEL_REQUESTED, cancel
from restante.inbox.receipts import ReceiptQuery, list_receipts, receipt
from restante.storage.ids import Prefix, decode_id
from restante.storage.transaction import Session

blueprint = Blueprint("events", __name__, url_prefix="/api/v1/events")


class Receipt(Answer):
    """How far an event has come, as its producer sees it."""

    event_id: str
    recipient_id: str
    sequence_number: int | None
    project: str
    type: str
    correlation_id: str | None
    producer: Producer
    status: Status
    stage: Literal[
        "accepted",
        "available",
        "read",
        "claimed",
        "completed",
        "quarantined",
        "cancelled",
        "expired",
    ]
    attempts: int
    accepted_at: WireInstant
    available_at: WireInstant
    read_at: WireInstant | None = Field(
        description="When its reader had read past it, give or take ten seconds."
    )
    claimed_at: WireInstant | None
    completed_at: WireInstant | None
    cancelled_at: WireInstant | None
    expired_at: WireInstant | None
    quarantined_at: WireInstant | None
    result: dict[str, Any] | None
    last_error: LastError | None


class ReceiptsQuery(Query):
    """Which receipts."""

    correlation_id: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    recipient: IdText | None = None
    limit: QueryLimit = 10
    page_token: PageToken | None = None

    @model_validator(mode="after")
    def _one_list(self) -> ReceiptsQuery:
        if (self.correlation_id is None) == (self.recipient is None):
            raise ValidationFailed.at(
                "", "give one of correlation_id and recipient: it names the list"
            )
        return self


class Receipts(Answer):
    """A page of receipts."""

    events: list[Receipt]
    next_page_token: str | None


class CancelBody(Body):
    """Why."""

    reason: Reason


class Cancelled(Answer):
    """What the cancel came to."""

    event_id: str
    status: Literal["cancelled", "cancel_requested"]


RECEIPT: dict[str, Any] = {
    "event_id": examples.EVENT_ID,
    "recipient_id": examples.AGENT_ID,
    "sequence_number": 1045,
    "project": "main",
    "type": "build.finished",
    "correlation_id": "release-2031-05",
    "producer": examples.EVENT["producer"],
    "status": "completed",
    "stage": "completed",
    "attempts": 1,
    "accepted_at": examples.CREATED_AT,
    "available_at": examples.CREATED_AT,
    "read_at": None,
    "claimed_at": examples.CREATED_AT,
    "completed_at": examples.LATER,
    "cancelled_at": None,
    "expired_at": None,
    "quarantined_at": None,
    "result": {"pull_request": 17},
    "last_error": None,
}
READERS = any_of(Verb.READ, Verb.PUBLISH, TenantScope.EVENTS_READ, TenantScope.EVENTS_PUBLISH)


@Endpoint(
    method="POST",
    access=any_of(Verb.PUBLISH, TenantScope.EVENTS_PUBLISH),
    tag="Publishing",
    summary="Publish",
    description=publishing.DESCRIPTION,
    body=PublishBody,
    examples={
        "one": {"recipients": [examples.AGENT_ID], **publishing.MESSAGE},
        "many": {
            "events": [
                {"recipients": [examples.AGENT_ID, examples.WORKER_ID], **publishing.MESSAGE},
                {"recipients": [examples.AGENT_ID], **publishing.MESSAGE, "delay_seconds": 60},
            ]
        },
    },
    also=taking(AddressedMessage, AddressedCloudEvent, restanterecipients=examples.AGENT_ID),
    answer=publishing.PublishAnswer,
    answer_examples={"one": {"events": [publishing.MADE]}},
    status=201,
    problems=publishing.PROBLEMS,
    creates=True,
    traced=True,
    shares=publishing.shares,
).route(blueprint, "")
def publish_events(session: Session, call: Call) -> Reply:
    """Publish."""
    return publishing.publish_call(session, call)


@Endpoint(
    method="GET",
    access=READERS,
    tag="Publishing",
    summary="List receipts",
    description="What this principal has published of one correlation or to one recipient, oldest first; "
    "with `tenant:events:read` what anybody of the tenant has. Events that are archived are in the list of "
    "their correlation only.",
    query=ReceiptsQuery,
    answer=Receipts,
    answer_examples={"one": {"events": [RECEIPT], "next_page_token": None}},
    problems=(PageTokenInvalid,),
).route(blueprint, "")
def list_events(session: Session, call: Call) -> Reply:
    """Receipts."""
    asked: ReceiptsQuery = call.query
    recipient_id = None
    if asked.recipient is not None:
        recipient_id = decode_id(Prefix.AGENT, asked.recipient)
        if recipient_id is None:  # it is nobody's id, so there is nothing for it
            return Reply({"events": [], "next_page_token": None})
    receipts, token = list_receipts(
        session,
        call.principal,
        ReceiptQuery(
            correlation_id=asked.correlation_id,
            recipient_id=recipient_id,
            limit=asked.limit,
            page_token=asked.page_token,
        ),
    )
    return Reply({"events": receipts, "next_page_token": token})


@Endpoint(
    method="GET",
    access=READERS,
    tag="Publishing",
    summary="Read a receipt",
    description="How far an event of one's own has come, and its result.",
    answer=Receipt,
    answer_examples={"completed": RECEIPT},
).route(blueprint, "/<event_id>")
def read_receipt(session: Session, call: Call) -> Reply:
    """One receipt."""
    return Reply(receipt(session, call.principal, call.event_id()))


@Endpoint(
    method="POST",
    access=any_of(Verb.PUBLISH, TenantScope.EVENTS_CANCEL, TenantScope.EVENTS_PUBLISH),
    tag="Publishing",
    summary="Cancel an event",
    description="One that waits is cancelled: 200. Of one that somebody holds, its holder is asked to "
    "stop: 202; any end but its ack cancels it.",
    body=CancelBody,
    examples={"plain": {"reason": "Replaced by a newer build."}},
    answer=Cancelled,
    answer_examples={
        "cancelled": {"event_id": examples.EVENT_ID, "status": "cancelled"},
        "requested": {"event_id": examples.EVENT_ID, "status": "cancel_requested"},
    },
    other_statuses={202: ("Its holder is asked to stop.", "requested")},
    problems=(EventFinal,),
).route(blueprint, "/<event_id>/cancel")
def cancel_event(session: Session, call: Call) -> Reply:
    """Cancel."""
    status = cancel(session, call.principal, call.event_id(), call.body.reason)
    content = {"event_id": call.path["event_id"], "status": status}
    return Reply(content, 202 if status == CANCEL_REQUESTED else 200)
