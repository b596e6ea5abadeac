"""What an earlier process of a consumer's name held when it was killed."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from restante_agent.errors import REFUSED, NotFound, StaleClaim
from restante_agent.model.event import ClaimedEvent
from restante_agent.model.inbox import Held
from restante_agent.model.settle import FailureOutcome
from restante_agent.runtime.outcome import failed
from restante_agent.runtime.record import Record
from restante_agent.runtime.script import Script
from restante_agent.wire import inbox_calls, settle_calls
from restante_agent.wire.core import Core

log = logging.getLogger("restante_agent")


def settle_leftovers(core: Core, record: Record, consumer: str) -> Script[None]:
    """Ack what the record knows as finished, give the rest back.

    It may have been begun, so the attempt counts: an event that kills its worker must end in
    quarantine, not come for ever.
    """
    held: Held = yield inbox_calls.claims(core, consumer=consumer)
    for event in held.events:
        known = record.find(event.event_id)
        try:
            if known is not None:
                yield from _ack(core, event, known.result)
            else:
                message = f"consumer {consumer} ended while it held the event"
                yield settle_calls.release(
                    core,
                    event.event_id,
                    event.claim_generation,
                    error=failed("consumer_lost", message, FailureOutcome.UNKNOWN),
                )
        except (StaleClaim, NotFound):
            continue
        log.info("leftover event_id=%s known=%s", event.event_id, known is not None)


def _ack(core: Core, event: ClaimedEvent, result: Mapping[str, Any] | None) -> Script[None]:
    """The work is done: a result that the server refuses must not keep its event open."""
    try:
        yield settle_calls.ack(core, event.event_id, event.claim_generation, result=result)
    except REFUSED as error:
        if result is None:
            raise
        log.warning("drop-words event_id=%s error=%s", event.event_id, error)
        yield settle_calls.ack(core, event.event_id, event.claim_generation)
