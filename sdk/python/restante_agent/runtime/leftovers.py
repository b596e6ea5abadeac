"""What an earlier process of a consumer's name held when it was killed."""

from __future__ import annotations

import logging

from restante_agent.errors import NotFound, StaleClaim
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
                yield settle_calls.ack(
                    core, event.event_id, event.claim_generation, result=known.result
                )
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
