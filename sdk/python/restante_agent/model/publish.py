"""Publications and their receipts (contract 6.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from restante_agent import instants


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """One message to publish. `type` may be left out when the payload has a string ``type``.

    `available_at` or `delay_seconds`, `expires_at` or `expires_in_seconds`: one of each pair.
    `backoff_base_seconds` and `backoff_max_seconds` replace the server's backoff together.
    `supersedes_key` cancels older events of the recipient and project that the same producer has
    published with the same key, those that nobody holds.
    """

    payload: Mapping[str, Any]
    project: str
    recipients: Sequence[str] = ()
    type: str | None = None
    priority: int | None = None
    correlation_id: str | None = None
    causation_id: str | None = None
    reply_to: str | None = None
    ordering_key: str | None = None
    available_at: datetime | None = None
    delay_seconds: float | None = None
    expires_at: datetime | None = None
    expires_in_seconds: float | None = None
    max_attempts: int | None = None
    backoff_base_seconds: float | None = None
    backoff_max_seconds: float | None = None
    corrects: str | None = None
    idempotency_key: str | None = None
    supersedes_key: str | None = None
    report: Sequence[str] = ()

    def as_json(self) -> dict[str, Any]:
        """The body of the contract; what is None or empty is left out."""
        members: dict[str, Any] = {"project": self.project, "payload": self.payload}
        if self.recipients:
            members["recipients"] = list(self.recipients)
        if self.report:
            members["report"] = list(self.report)
        for name in _PLAIN:
            value = getattr(self, name)
            if value is not None:
                members[name] = value
        for name in ("available_at", "expires_at"):
            value = getattr(self, name)
            if value is not None:
                members[name] = instants.render(value)
        backoff = {
            "base_seconds": self.backoff_base_seconds,
            "max_seconds": self.backoff_max_seconds,
        }
        if any(v is not None for v in backoff.values()):
            members["backoff"] = {k: v for k, v in backoff.items() if v is not None}
        return members


_PLAIN = (
    "type",
    "priority",
    "correlation_id",
    "causation_id",
    "reply_to",
    "ordering_key",
    "delay_seconds",
    "expires_in_seconds",
    "max_attempts",
    "corrects",
    "idempotency_key",
    "supersedes_key",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reachability:
    """How the recipient was last seen: `mode` is stream, poll, callback or away."""

    mode: str
    last_seen_at: datetime | None = None
    pending: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedEvent:
    """`existing`: the publication's own idempotency key had made this event before."""

    event_id: str
    recipient_id: str
    status: str
    sequence_number: int | None = None
    reachability: Reachability | None = None
    existing: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """Events made by one call, in the order listed. `replayed`: the call was a repeat."""

    events: tuple[PublishedEvent, ...]
    idempotency_key: str = ""
    replayed: bool = False
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What the producer may know of an event; times and result are members of `raw`."""

    event_id: str
    status: str
    recipient_id: str | None = None
    result: Mapping[str, Any] | None = None
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiptPage:
    events: tuple[Receipt, ...]
    next_page_token: str | None = None
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled:
    """`status` is cancelled, or cancel_requested while somebody holds the event."""

    status: str
    event_id: str | None = None
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
