"""The claims of a run: when an event surely was in a hand, and when its lease surely was over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from tests.chaos.history import Call, Outcome

SLACK = 50_000_000
"""Nanoseconds between the clock of leases, which is steered, and that of the history, which is not."""
MILLISECOND = 1_000_000
SECOND = 1_000_000_000


@dataclass
class Claim:
    """A claim that somebody was told of. Instants as in the history.

    `sent_at`: before the lease began. `got_at`: its holder knew. `surely_until`: its lease lasted and
    it was not settled. `over_at`: its lease had ended, unless it was renewed unseen (infinite).
    """

    event_id: str
    generation: int
    fence: int | None
    attempts: int
    max_attempts: int
    sent_at: int
    got_at: int
    surely_until: int
    over_at: float
    acked_at: int | None = None

    @property
    def name(self) -> str:
        return f"{self.event_id} ({self.generation})"


def claims(calls: Sequence[Call]) -> dict[tuple[str, int], Claim]:
    """By event and generation; `calls` as they were sent."""
    found: dict[tuple[str, int], Claim] = {}
    first_sent: dict[str, int] = {}
    for call in calls:
        if call.verb == "claim":
            began = first_sent.setdefault(call.asked["claim_id"], call.sent_at)
            _take(found, call, began)
    for call in calls:
        if call.verb in ("ack", "release", "reject", "renew"):
            claim = found.get((call.asked["event_id"], call.asked["generation"]))
            if claim is not None:
                _settle(claim, call)
    return found


def _take(found: dict[tuple[str, int], Claim], call: Call, began: int) -> None:
    if call.outcome is not Outcome.OK or call.answered_at is None:
        return
    for event in call.told["events"]:
        name = event["event_id"], event["generation"]
        over_at = call.answered_at + event["remaining_ms"] * MILLISECOND + SLACK
        known = found.get(name)
        if known is not None:
            known.got_at = min(known.got_at, call.answered_at)
            known.over_at = max(known.over_at, over_at)
            continue
        found[name] = Claim(
            event_id=event["event_id"],
            generation=event["generation"],
            fence=event["fence"],
            attempts=event["attempts"],
            max_attempts=event["max_attempts"],
            sent_at=began,
            got_at=call.answered_at,
            surely_until=began + int(call.asked["lease_seconds"] * SECOND) - SLACK,
            over_at=over_at,
        )


def _settle(claim: Claim, call: Call) -> None:
    if call.verb == "renew":
        if call.outcome is Outcome.AMBIGUOUS or call.answered_at is None:
            claim.over_at = inf
        elif call.outcome is Outcome.OK:
            length = call.asked["lease_seconds"] * SECOND
            claim.over_at = max(claim.over_at, call.answered_at + length + SLACK)
            if claim.surely_until > call.sent_at:
                claim.surely_until = max(claim.surely_until, call.sent_at + length - SLACK)
        return
    claim.surely_until = min(claim.surely_until, call.sent_at)
    if call.verb == "ack" and claim.acked_at is None:
        claim.acked_at = call.sent_at
