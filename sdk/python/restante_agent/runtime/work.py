"""The order in which one claimed event is worked, written once for both runners.

recall → (known: ack without work) → handler → remember, if it succeeded → settle

A turn is not remembered: an event that comes again has had none of it, so all of it is done anew.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from random import Random
from typing import Any

from restante_agent.errors import (
    ACCESS,
    PASSING,
    REFUSED,
    ApiError,
    IdempotencyInFlight,
    NotFound,
    RestanteError,
    StaleClaim,
)
from restante_agent.memory_errors import TurnConflict
from restante_agent.model.memory import MemoryWrite, Turn, Turned
from restante_agent.model.settle import Ack, Reject, Release, Settlement
from restante_agent.runtime.delivery import Delivery, StopReason
from restante_agent.runtime.outcome import Verb, refused_turn, settled_by
from restante_agent.runtime.record import Finished
from restante_agent.wire import settle_calls, turn_calls
from restante_agent.wire.call import Call
from restante_agent.wire.core import Core

log = logging.getLogger("restante_agent")

PAUSE_CEILING_SECONDS = 5.0


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


@dataclass(frozen=True, slots=True)
class Pause:
    """Effect: wait so long, or until the lease is lost."""

    seconds: float


Effect = Recall | Handle | Remember | Settle | Pause
Work = Generator[Effect, Any, End]


def settle_call(core: Core, delivery: Delivery, verb: Verb) -> Call[Any]:
    """The call that tells the server."""
    event_id, generation = delivery.event.event_id, delivery.generation
    match verb:
        case Ack():
            return settle_calls.ack(core, event_id, generation, result=verb.result)
        case Release():
            return settle_calls.release(
                core, event_id, generation, delay_seconds=verb.delay_seconds, error=verb.error
            )
        case Reject():
            return settle_calls.reject(core, event_id, generation, reason=verb.reason)
        case Turn():
            return turn_calls.turn(
                core,
                [Settlement(event_id, generation, settled_by(verb))],
                memory=[write for write in verb.memory if isinstance(write, MemoryWrite)],
                publish=verb.publish,
                projects=[delivery.event.project],
                # this claim's turn: tried again it is done once
                idempotency_key=f"turn-{event_id}-{generation}",
            )


def tell_quarantine(delivery: Delivery, answer: object) -> None:
    """Have the log say so where the event's failure was its last: nothing tries it again by itself."""
    ends = [*answer.release, *answer.reject] if isinstance(answer, Turned) else [answer]
    if any(getattr(end, "status", None) == "quarantined" for end in ends):
        event = delivery.event
        log.warning(
            "quarantined event_id=%s attempts=%d: it is not tried again until an operator puts it back",
            event.event_id,
            event.attempts,
        )


def work(delivery: Delivery, random: Random) -> Work:
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
    return (yield from _settle(delivery, verb, random)) or end


def _settle(delivery: Delivery, verb: Verb, random: Random) -> Generator[Effect, Any, End | None]:
    """Until it is done or refused, for as long as the lease is ours; None: done as it was said."""
    try:
        if isinstance(verb, Turn):
            return (yield from _take(delivery, verb, random))
        return (yield from _tell(delivery, verb, random))
    except (StaleClaim, NotFound):
        delivery.stop(StopReason.LEASE_LOST)
        return End.STALE
    except REFUSED as error:
        bare = Ack() if isinstance(verb, Ack) else Release() if isinstance(verb, Release) else verb
        if bare == verb:
            return End.UNSETTLED
        log.warning("drop-words event_id=%s error=%s", delivery.event.event_id, error)
    except RestanteError:
        return End.UNSETTLED
    # Refused for its wording; without it the event is still done, or still goes back.
    return (yield from _settle(delivery, bare, random))


def _take(delivery: Delivery, turn: Turn, random: Random) -> Generator[Effect, Any, End | None]:
    """As `_settle`; a turn that is refused for what it says is a failed attempt."""
    try:
        return (yield from _tell(delivery, turn, random))
    except TurnConflict as error:
        if error.is_stale:
            delivery.stop(StopReason.LEASE_LOST)
            return End.STALE
        release = refused_turn(error)
    except ApiError as error:
        release = refused_turn(error)
    return (yield from _settle(delivery, release, random)) or End.FAILED


def _tell(delivery: Delivery, verb: Verb, random: Random) -> Generator[Effect, Any, End | None]:
    """Tell the server until it has answered; its refusal is raised.

    The work is too dear to be lost to a server that is away, or to a grant, for a while.
    """
    failures = 0
    while True:
        try:
            yield Settle(verb)
        except (*PASSING, *ACCESS, IdempotencyInFlight) as error:
            named = error.retry_after_seconds if isinstance(error, ApiError) else None
            ceiling = min(PAUSE_CEILING_SECONDS, 2.0**failures)
            wait = named * random.uniform(1.0, 1.25) if named else random.uniform(0.1, ceiling)
            failures += 1
            yield Pause(wait)
            if delivery.must_stop:
                return End.UNSETTLED
        else:
            return None


def _end_of(verb: Verb) -> End:
    if isinstance(verb, Turn):
        return _end_of(settled_by(verb))
    if isinstance(verb, Ack):
        return End.ACKED
    if isinstance(verb, Release):
        return End.FAILED if verb.error else End.RELEASED
    return End.REJECTED
