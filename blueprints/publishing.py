"""Publish for the two addresses that do: everybody's, and that of the agent who is written to."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Literal

from pydantic import Field

from blueprints import examples
from blueprints.bodies import idempotency_key
from blueprints.calls import Call, Reply
from blueprints.fields import Answer
from blueprints.idempotency import once
from blueprints.publications import Message, publications_of
from blueprints.request_facts import note_published
from blueprints.shapes import Status, WireInstant
from blueprints.tracing import publishers_traceparent
from extensions import house
from restante.errors import (
    IdempotencyInFlight,
    IdempotencyKeyReused,
    InboxFull,
    PayloadTooLarge,
    RecipientRefused,
    ValidationFailed,
)
from restante.inbox.lifecycle import STATUS_OF
from restante.inbox.publication import Publication, Published
from restante.inbox.publish import publish, write
from restante.inbox.reachability import MOST_RECIPIENTS
from restante.storage.clock import database_now
from restante.storage.combine import LARGE, Kind, Sharing
from restante.storage.ids import Prefix, decode_id, encode_id
from restante.storage.transaction import Session

PROBLEMS = (RecipientRefused, IdempotencyKeyReused, IdempotencyInFlight, InboxFull, PayloadTooLarge)
DESCRIPTION = (
    "All events of a call are written, or none. Recipients are rung once they are committed. With an "
    "`Idempotency-Key` a repeat is answered with the first run's events. A CloudEvent is one publication: "
    "it is the payload, and its `source` and `id` are its idempotency key."
)
MESSAGE: dict[str, Any] = {
    "project": "main",
    "payload": examples.PAYLOAD,
    "ordering_key": "acme/site",
    "correlation_id": "release-2031-05",
}
MADE: dict[str, Any] = {
    "event_id": examples.EVENT_ID,
    "recipient_id": examples.AGENT_ID,
    "sequence_number": 1045,
    "status": "pending",
    "reachability": {"mode": "away", "last_seen_at": None, "pending": 1},
}


class Reachable(Answer):
    """How a recipient can be reached just now: it has a stream open, it polls, or it is away."""

    mode: Literal["stream", "poll", "callback", "away"]
    last_seen_at: WireInstant | None
    pending: int = Field(description="What waits for it; at most 10,000, then `capped`.")
    capped: bool | None = None


class PublishedEvent(Answer):
    """An event for one recipient; `existing`: this producer had published it before under its key."""

    event_id: str
    recipient_id: str
    sequence_number: int | None
    status: Status
    existing: bool | None = None
    reachability: Reachable | None = Field(
        default=None, description="Told for calls to up to ten recipients."
    )


class PublishAnswer(Answer):
    """In the order listed: publication by publication, recipient by recipient."""

    events: list[PublishedEvent]


def shares(call: Call) -> Sharing | None:
    """Publications for one inbox may be written with others': inbox rows are locked in order."""
    body = call.body
    messages: Sequence[Message] = [body] if isinstance(body, Message) else body.events
    events = sum(1 + len(message.payload.more) for message in messages)
    if events > LARGE:
        return None
    here = call.path.get("agent_id")
    named = {here} if here else {n for message in messages for n in message.named_recipients()}
    if len(named) > 1 or any(message.idempotency_key for message in messages):
        return None
    (inbox,) = named
    key = idempotency_key(call.request)
    once = None if key is None else call.principal.id + key.encode()
    return Sharing(kind=Kind.PUBLISH, order=inbox.encode(), events=events, once=once)


def publish_call(session: Session, call: Call, *, here: str | None = None) -> Reply:
    """Publish what the body says; `here`: the agent of the address."""
    publications = publications_of(
        call.body, house().settings, here=here, traceparent=publishers_traceparent(call.request)
    )

    def create() -> list[dict[str, Any]]:
        try:
            published = publish(session, call.principal, publications)
        except ValidationFailed as error:
            raise error if hasattr(call.body, "events") else _of_the_body(error) from None
        write(session)
        made = told_of(published)
        note_published(call.request, made)
        return made

    return once(
        session,
        call,
        create,
        render=lambda made: {"events": _with_reachability(session, made)},
        latest_at=lambda: latest(session, publications),
    )


def told_of(published: Sequence[Published]) -> list[dict[str, Any]]:
    """What is told of published events, without how their recipients can be reached."""
    names = {r: encode_id(Prefix.AGENT, r) for r in {event.recipient_id for event in published}}
    made: list[dict[str, Any]] = []
    for event in published:
        members = {
            "event_id": encode_id(Prefix.EVENT, event.event_id),
            "recipient_id": names[event.recipient_id],
            "sequence_number": event.sequence_number,
            "status": STATUS_OF[event.gate],
        }
        if event.existing:
            members["existing"] = True
        made.append(members)
    return made


def _with_reachability(session: Session, made: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same, with how each recipient can be reached, where there are few."""
    recipients = {event["recipient_id"] for event in made}
    if len(recipients) > MOST_RECIPIENTS:
        return made
    raw = {told: decode_id(Prefix.AGENT, told) or b"" for told in recipients}
    arrived = dict.fromkeys(raw.values(), 0)
    for event in made:
        if event["status"] == "pending" and "existing" not in event:
            arrived[raw[event["recipient_id"]]] += 1
    known = house().reachability.of(session, arrived)
    return [{**event, "reachability": known[raw[event["recipient_id"]]]} for event in made]


def latest(session: Session, publications: Sequence[Publication]) -> datetime | None:
    """When the last of them is available, where that is later than now."""
    if all(p.available_at is None and not p.delay_seconds for p in publications):
        return None
    now = database_now(session)
    times = (p.available_at or now + timedelta(seconds=p.delay_seconds or 0) for p in publications)
    return max(now, *times)


def _of_the_body(error: ValidationFailed) -> ValidationFailed:
    """The engine's pointers go into a list; a single publication is the body itself."""
    return ValidationFailed(
        errors=[
            {**fault, "pointer": fault["pointer"].removeprefix("/events/0")}
            for fault in error.members["errors"]
        ]
    )
