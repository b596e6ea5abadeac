"""What the inbox answers: pages, claims, commits, stats (contract 5.2, 5.3, 5.5, 5.6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from restante_agent.model.event import ClaimedEvent, Event
from restante_agent.model.memory import MemoryEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Events after a cursor. Persist `next_cursor` and `epoch` once the events are safe."""

    events: tuple[Event, ...]
    next_cursor: int
    has_more: bool
    epoch: str
    claimable: int = 0
    next_poll_ms: int | None = None
    etag: str | None = None
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The answer to a claim. `spent`: this claim_id took events whose leases are all over.

    `sent_at` is the client's monotonic clock when the request left, so that
    ``sent_at + lease_remaining_ms / 1000`` never overstates a lease.
    """

    events: tuple[ClaimedEvent, ...]
    claim_id: str
    claimable: int = 0
    next_poll_ms: int | None = None
    reason: str | None = None
    spent: bool = False
    sent_at: float = 0.0
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """The live leases of a consumer."""

    events: tuple[ClaimedEvent, ...]
    sent_at: float = 0.0
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """Events completed by a commit through a cursor; `has_more` asks for another call."""

    completed: int
    has_more: bool = False
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """Counts of the inbox; a count is exact up to 10,000."""

    pending: int
    claimable: int
    head: int
    oldest_cursor: int
    epoch: str
    scheduled: int = 0
    claimed: int = 0
    quarantined: int = 0
    oldest_pending_age_seconds: float | None = None
    streams: int = 0
    last_seen_at: datetime | None = None
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The baseline at first start and after a 410 (5.9): go on from `cursor`.

    `memory`: the keys of this page. After the last page the memory's changes are read after
    `memory_revision`; `MemoryView` does both.
    """

    cursor: int
    epoch: str
    memory: tuple[MemoryEntry, ...] = ()
    assignments: tuple[Mapping[str, Any], ...] | None = ()
    memory_revision: int | None = None
    claimable: int | None = None
    next_page_token: str | None = None
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
