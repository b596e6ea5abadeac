"""Events as an agent reads them: contract section 5, "Event as read"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any


class EventStatus(StrEnum):
    """The states of an event. A later server may add some; compare, do not match exhaustively."""

    SCHEDULED = "scheduled"
    PENDING = "pending"
    CLAIMED = "claimed"
    COMPLETED = "completed"
    QUARANTINED = "quarantined"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class Producer:
    """Who published, stamped by the server."""

    kind: str = ""
    id: str = ""
    name: str = ""
    signed: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One immutable message in one inbox. `payload` is None once the event is final or archived.

    `raw` is the JSON object as the server sent it, with members this version does not name.
    """

    event_id: str
    project: str
    type: str
    status: str
    sequence_number: int | None = None
    priority: int = 0
    payload: Any = None
    correlation_id: str | None = None
    causation_id: str | None = None
    reply_to: str | None = None
    ordering_key: str | None = None
    ordering_sequence: int | None = None
    producer: Producer | None = None
    attempts: int = 0
    max_attempts: int | None = None
    created_at: datetime | None = None
    available_at: datetime | None = None
    not_before: datetime | None = None
    expires_at: datetime | None = None
    corrects: str | None = None
    redriven: bool | None = None
    traceparent: str | None = None
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedEvent(Event):
    """An event under a lease. `claim_generation` fences every settle.

    `fence` (events with an ordering key only) is for whatever resource the key stands for: hand
    it over with every change, and let the resource refuse smaller ones.
    """

    claim_generation: int
    fence: int | None = None
    claim_expires_at: datetime | None = None
    lease_remaining_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineEntry:
    """One departure from the plain path: a lease end, a release, a quarantine, a redrive ..."""

    kind: str
    at: datetime | None = None
    generation: int | None = None
    consumer: str | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventDetail(Event):
    """One event with what became of it (5.6)."""

    result: Mapping[str, Any] | None = None
    last_error: Mapping[str, Any] | None = None
    timeline: tuple[TimelineEntry, ...] = ()
