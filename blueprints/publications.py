"""What a producer sends (contract 6.1), and how it becomes the engine's publications."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    RootModel,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from blueprints.backoff import Backoff
from blueprints.fields import (
    Body,
    IdText,
    Instant,
    Key,
    Payload,
    PositiveSeconds,
    Seconds,
    Slug,
    Tidy,
    integral,
)
from blueprints.publication_sizes import MOST_EVENTS, check_size
from blueprints.raw_json import Raw
from config import Settings
from restante.errors import RecipientRefused, ValidationFailed
from restante.identity.names import UNTIDY, is_tidy
from restante.inbox.publication import Publication
from restante.storage.ids import Prefix, decode_id

_NO_REPORT: frozenset[str] = frozenset()
Text = Annotated[Tidy, Field(min_length=1, max_length=200)]


class Message(Body):
    """An event to be, without whom it is for."""

    project: Annotated[Slug, Field(description="A project that every recipient has.")]
    type: (
        Annotated[
            Tidy, Field(min_length=1, max_length=128, description="Left out: the payload's `type`.")
        ]
        | None
    ) = None
    payload: Payload
    priority: Annotated[
        int,
        Field(ge=-100, le=100, description="The highest is claimed first."),
        BeforeValidator(integral),
    ] = 0
    correlation_id: Text | None = Field(
        None, description="What it belongs to; receipts can be listed by it."
    )
    causation_id: Text | None = Field(None, description="What it follows from.")
    reply_to: IdText | None = Field(
        None,
        description="An agent of the tenant that answers should go to; nothing is sent by itself.",
    )
    ordering_key: Text | None = Field(
        None, description="The events of an inbox with one key are worked one after the other."
    )
    available_at: Instant | None = Field(
        None, description="Not before this instant (RFC 3339, any offset); or give delay_seconds."
    )
    delay_seconds: Seconds | None = Field(None, description="Not before so long from now.")
    expires_at: Instant | None = Field(
        None,
        description="Expires if nobody has begun it by then (RFC 3339, any offset); or give "
        "expires_in_seconds.",
    )
    expires_in_seconds: PositiveSeconds | None = Field(None, description="The same, from now.")
    max_attempts: Annotated[int, Field(ge=1, le=100), BeforeValidator(integral)] | None = Field(
        None, description="After so many failed ones it is quarantined; left out: the server's, 5."
    )
    backoff: Backoff | None = Field(
        None,
        description="The longest wait after a failure: base_seconds, doubled each time up to "
        "max_seconds. Left out: 5 and 900.",
    )
    corrects: (
        Annotated[
            IdText, Field(pattern="^evt_[0-9a-f]{32}$", description="The event this one corrects.")
        ]
        | None
    ) = None
    idempotency_key: Key | None = Field(
        None,
        description="Of this publication alone: a recipient gets it once, and a repeat is answered "
        "with what has become of it.",
    )
    supersedes_key: Text | None = Field(
        None,
        description="Cancels, with reason superseded, the recipient's older events of the project that "
        "the same producer has published with the same key and that nobody holds: pending, delayed or "
        "scheduled ones.",
    )
    report: (
        Annotated[list[Literal["quarantined", "expired", "cancelled"]], Field(max_length=3)] | None
    ) = Field(
        None,
        description="Ends of which a publishing agent is told, by an event of type delivery_report. "
        "A service has no inbox to be told in.",
    )

    @model_validator(mode="after")
    def _one_way_to_say_it(self) -> Message:
        if self.available_at is not None and self.delay_seconds is not None:
            raise PydanticCustomError("twice", "give available_at or delay_seconds, not both")
        if self.expires_at is not None and self.expires_in_seconds is not None:
            raise PydanticCustomError("twice", "give expires_at or expires_in_seconds, not both")
        return self

    def named_recipients(self) -> Sequence[str]:
        """None here: the address names it."""
        return ()


class AddressedMessage(Message):
    """An event to be, for each of its recipients."""

    recipients: Annotated[list[IdText], Field(min_length=1, max_length=MOST_EVENTS)]

    def named_recipients(self) -> Sequence[str]:
        """As sent."""
        return self.recipients


def each_kind_once(items: Any, check: ValidatorFunctionWrapHandler) -> Any:
    """Of messages that are written alike but for their payloads the first is checked.

    It stands for all: its payload has `more`. Where it has a fault, so have they, each its own.
    """
    if type(items) is not list or len(items) > MOST_EVENTS:
        return check(items)
    firsts, at = [], 0
    while at < len(items):
        firsts.append(items[at])
        at += 1 + _alike(items[at])
    try:
        return check(firsts)
    except ValidationError:
        if len(firsts) == len(items):
            raise
        return check(items)


def _alike(item: Any) -> int:
    payload = item.get("payload") if type(item) is dict else None
    return len(payload.more) if type(payload) is Raw else 0


class Messages(Body):
    """Many for the agent of the address."""

    events: Annotated[
        list[Message],
        Field(min_length=1, max_length=MOST_EVENTS),
        WrapValidator(each_kind_once),
    ]


class AddressedMessages(Body):
    """Many, each with its recipients."""

    events: Annotated[
        list[AddressedMessage],
        Field(min_length=1, max_length=MOST_EVENTS),
        WrapValidator(each_kind_once),
    ]


class PublishBody(RootModel[AddressedMessage | AddressedMessages]):
    """One publication, or `events` with many."""

    @staticmethod
    def variant(value: dict[str, Any]) -> type[Body]:
        """Which of the two a body is."""
        return AddressedMessages if "events" in value else AddressedMessage


class PublishHereBody(RootModel[Message | Messages]):
    """One publication for the agent of the address, or `events` with many."""

    @staticmethod
    def variant(value: dict[str, Any]) -> type[Body]:
        """Which of the two a body is."""
        return Messages if "events" in value else Message


def publications_of(
    body: Message | Messages | AddressedMessages,
    settings: Settings,
    *,
    here: str | None,
    traceparent: str | None,
) -> list[Publication]:
    """For the engine. `here`: the agent of the address, where it names the recipient.

    Raises PayloadTooLarge, ValidationFailed, RecipientRefused.
    """
    many = not isinstance(body, Message)
    messages: Sequence[Message] = [body] if isinstance(body, Message) else body.events
    named = [[here] if here is not None else message.named_recipients() for message in messages]
    payloads = [(message.payload, *message.payload.more) for message in messages]
    firsts = list(accumulate(map(len, payloads[:-1]), initial=0))
    pointers = [f"/events/{first}" if many else "" for first in firsts]
    check_size(payloads, named, settings.payload_limit_bytes, many=many)
    known = _decoded(messages, named, pointers)
    made: list[Publication] = []
    for message, names, alike, first in zip(messages, named, payloads, firsts, strict=True):
        recipients = tuple([known[text] for text in names])
        publication = _publication(message, recipients, known, traceparent=traceparent)
        if message.type is not None and message.idempotency_key is None:
            publication.more = tuple([raw.text for raw in alike[1:]])
            made.append(publication)
            continue
        # each has a type of its own, or is refused for its key
        for index, raw in enumerate(alike, first):
            at = f"/events/{index}" if many else ""
            made.append(replace(publication, payload=raw.text, type=_type(message, raw, at)))
    return made


def _decoded(
    messages: Sequence[Message], named: Sequence[Sequence[str]], pointers: Sequence[str]
) -> dict[str, bytes]:
    """Every agent named, by the text that names it. What does not decode is nobody."""
    known: dict[str, bytes] = {}
    nobody: list[str] = []
    for message, names, at in zip(messages, named, pointers, strict=True):
        if len(set(names)) < len(names):
            raise ValidationFailed.at(f"{at}/recipients", "names a recipient twice: name each once")
        for text in (*names, message.reply_to):
            if text is None or text in known:
                continue
            raw = decode_id(Prefix.AGENT, text)
            if raw is None:
                nobody.append(text)
            else:
                known[text] = raw
    if nobody:
        raise RecipientRefused(recipients=sorted(set(nobody)))
    return known


def _type(message: Message, payload: Raw, at: str) -> str:
    kind = message.type or payload.value.get("type")
    if type(kind) is not str or not 1 <= len(kind) <= 128:
        raise ValidationFailed.at(
            f"{at}/type",
            "is required where the payload has no `type` that is a string of 1 to 128 characters",
        )
    if not is_tidy(kind):
        raise ValidationFailed.at(f"{at}/payload/type", UNTIDY)
    return kind


def _publication(
    message: Message,
    recipients: tuple[bytes, ...],
    known: dict[str, bytes],
    *,
    traceparent: str | None,
) -> Publication:
    corrects = None if message.corrects is None else decode_id(Prefix.EVENT, message.corrects)
    backoff = message.backoff
    return Publication(
        recipients=recipients,
        project=message.project,
        type=message.type or "",
        payload=message.payload.text,
        priority=message.priority,
        correlation_id=message.correlation_id,
        causation_id=message.causation_id,
        reply_to=None if message.reply_to is None else known[message.reply_to],
        ordering_key=message.ordering_key,
        available_at=message.available_at,
        delay_seconds=message.delay_seconds,
        expires_at=message.expires_at,
        expires_in_seconds=message.expires_in_seconds,
        max_attempts=message.max_attempts,
        backoff=None if backoff is None else (backoff.base_seconds, backoff.max_seconds),
        corrects=corrects,
        idempotency_key=message.idempotency_key,
        supersedes_key=message.supersedes_key,
        report=_NO_REPORT if message.report is None else frozenset(message.report),
        traceparent=traceparent,
    )
