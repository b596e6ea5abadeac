"""What a holder may ask for an event: the four orders of settle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from restante.inbox.failures import Failure

Answer = dict[str, Any]
"""What is answered to one order, as JSON has it."""


# a dataclass that is frozen takes three times as long to make, and there may be a thousand
class Ack(NamedTuple):
    """The work is done. `result`: a JSON object's text."""

    event_id: bytes
    claim_generation: int
    result: bytes | None = None


@dataclass(frozen=True, slots=True)
class Release:
    """Give it back: with an error a failed attempt, without one none."""

    event_id: bytes
    claim_generation: int
    delay_seconds: float | None = None
    error: Failure | None = None


@dataclass(frozen=True, slots=True)
class Reject:
    """It can never be done: quarantine now."""

    event_id: bytes
    claim_generation: int
    reason: str


@dataclass(frozen=True, slots=True)
class Renew:
    """More time. `progress`: a JSON object's text."""

    event_id: bytes
    claim_generation: int
    lease_seconds: int | None = None
    progress: bytes | None = None


Order = Ack | Release | Reject | Renew
