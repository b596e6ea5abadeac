"""Ends of a lease, asked and answered (contract 5.4, 5.5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from restante_agent.errors import ApiError


class FailureOutcome(StrEnum):
    """What a failed attempt left behind in the world: nothing, nobody knows, a failure."""

    NONE = "none"
    UNKNOWN = "unknown"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an attempt failed; goes to `last_error` of the event."""

    code: str
    message: str
    outcome: FailureOutcome = FailureOutcome.FAILED


@dataclass(frozen=True, slots=True)
class Ack:
    """The event is done. `result`: a JSON object of at most 8 KiB, kept with the event."""

    result: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Release:
    """Give the event back; without `error` the attempt is not counted."""

    delay_seconds: float | None = None
    error: Failure | None = None


@dataclass(frozen=True, slots=True)
class Reject:
    """The event can never succeed: into quarantine now."""

    reason: str


@dataclass(frozen=True, slots=True)
class Renew:
    """Keep the lease. `progress`: a JSON object of at most 4 KiB."""

    lease_seconds: int | None = None
    progress: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Settlement:
    """One line of a settle call: what to do with one claimed event."""

    event_id: str
    claim_generation: int
    verb: Ack | Release | Reject | Renew


@dataclass(frozen=True, slots=True, kw_only=True)
class Acked:
    event_id: str
    status: str = "completed"
    completed_at: datetime | None = None
    cancel_requested: bool = False
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """`status` is pending, quarantined (attempts used up, release loop) or cancelled."""

    status: str
    not_before: datetime | None = None
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    status: str = "quarantined"
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Renewed:
    """`cancel_requested`: stop if you can; only an ack still wins over the cancel."""

    lease_remaining_ms: int
    claim_expires_at: datetime | None = None
    cancel_requested: bool = False
    deadline_passed: bool = False
    sent_at: float = 0.0
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedAll:
    """Answer to giving back everything a consumer holds; `released` is None if not counted."""

    released: int | None = None
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """One result of a settle call: `status` when it happened, `error` when it did not."""

    event_id: str
    status: str | None = None
    error: ApiError | None = None
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
