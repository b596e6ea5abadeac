"""Shapes that several answers share (contract 5): events as they are read, and embedded problems."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from blueprints.fields import Answer

Status = Literal[
    "scheduled", "pending", "claimed", "completed", "quarantined", "cancelled", "expired"
]
WireInstant = Annotated[
    str,
    Field(
        pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$",
        description="RFC 3339, UTC, six decimals.",
    ),
]


class Producer(Answer):
    """Who published; stamped by the server."""

    kind: Literal["agent", "service", "server", "operator"]
    id: str
    name: str
    signed: bool


class Event(Answer):
    """One immutable message in one inbox, and where it stands."""

    event_id: str
    sequence_number: int | None = Field(
        description="Its place in the inbox; null while it is scheduled."
    )
    status: Status
    attempts: int
    max_attempts: int
    ordering_sequence: int | None
    available_at: WireInstant
    not_before: WireInstant | None
    expires_at: WireInstant | None
    redriven: bool
    project: str
    type: str
    priority: int
    correlation_id: str | None
    causation_id: str | None
    reply_to: str | None
    ordering_key: str | None
    producer: Producer
    created_at: WireInstant
    corrects: str | None
    traceparent: str | None
    payload: dict[str, Any] | None = Field(
        description="As it was received, byte for byte; null once the event is completed, and in pages of "
        "quarantined ones."
    )


class LastError(Answer):
    """The last failed attempt."""

    code: str
    message: str
    outcome: Literal["none", "unknown", "failed"]
    at: WireInstant
    attempt: int
    quarantine_reason: str | None


class ClaimedEvent(Event):
    """An event under a lease of its reader."""

    claim_generation: int = Field(description="To be named by ack, release, reject and renew.")
    fence: int | None = Field(description="Grows with every claim in the event's ordering key.")
    claim_expires_at: WireInstant
    lease_remaining_ms: int


class Problem(Answer):
    """A problem as in RFC 9457; `type` is a page of this server."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str
