"""The order in which one claimed event is worked, written once for both runners.

recall → (known: ack without work) → handler → remember, if it succeeded → settle
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from restante_agent.errors import ApiError, NotFound, RestanteError, StaleClaim
from restante_agent.model.settle import Ack, Release
from restante_agent.runtime.delivery import Delivery, StopReason
from restante_agent.runtime.outcome import Verb
from restante_agent.runtime.record import Finished


class End(StrEnum):
    """How a delivery ended; names a count of the summary."""

    ACKED = "acked"
    KNOWN = "known"  # acked without work: the record had it
    RELEASED = "released"
    FAILED = "failed"  # released with an error
    REJECTED = "rejected"
    STALE = "stale"  # the claim was over before the settle
    STOPPED = "stopped"  # given up when told to, nothing left to settle
    UNSETTLED = "unsettled"  # no settle got through; the lease will end


@dataclass(frozen=True, slots=True)
class Recall:
    """Effect: look the event up; reply Finished or None."""


@dataclass(frozen=True, slots=True)
class Handle:
    """Effect: run the handler; reply the verb it comes to, or None."""


@dataclass(frozen=True, slots=True)
class Remember:
    """Effect: write the record, durably."""

    result: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Settle:
    """Effect: tell the server; raise its refusal into the generator."""

    verb: Verb


Effect = Recall | Handle | Remember | Settle
Work = Generator[Effect, Any, End]


def work(delivery: Delivery) -> Work:
    known = yield Recall()
    verb: Verb | None
    if isinstance(known, Finished):
        verb, end = Ack(known.result), End.KNOWN
    else:
        verb = yield Handle()
        if verb is None:
            return End.STOPPED
        end = _end_of(verb)
        if isinstance(verb, Ack):
            yield Remember(verb.result)
    try:
        yield Settle(verb)
    except (StaleClaim, NotFound):
        delivery.stop(StopReason.LEASE_LOST)
        return End.STALE
    except ApiError as refusal:
        if not isinstance(verb, Release) or refusal.status != 422:
            return End.UNSETTLED
        yield from _settle_bare(delivery)
    except RestanteError:
        return End.UNSETTLED
    return end


def _settle_bare(delivery: Delivery) -> Generator[Effect, Any, None]:
    # A release is refused only for its wording; without it the event still goes back.
    try:
        yield Settle(Release())
    except RestanteError:
        delivery.stop(StopReason.LEASE_LOST)


def _end_of(verb: Verb) -> End:
    if isinstance(verb, Ack):
        return End.ACKED
    if isinstance(verb, Release):
        return End.FAILED if verb.error else End.RELEASED
    return End.REJECTED
