"""From what a handler did to the verb that says so to the server."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from restante_agent import jsontext
from restante_agent.errors import ApiError, RestanteError
from restante_agent.model.memory import MemoryWrite, Turn
from restante_agent.model.settle import Ack, Failure, FailureOutcome, Reject, Release
from restante_agent.runtime.delivery import Delivery, Stopped, StopReason

log = logging.getLogger("restante_agent")

RESULT_LIMIT_BYTES = 8 * 1024
CODE_LIMIT, MESSAGE_LIMIT = 100, 1_000

Verb = Ack | Release | Reject | Turn
HandlerResult = Verb | Mapping[str, Any] | None


class AttemptFailed(RestanteError):
    """Raise it from a handler to name the failure; any other exception is named after its class.

    `outcome` says what the attempt left behind; `delay_seconds` replaces the server's backoff.
    """

    def __init__(
        self,
        code: str,
        message: str = "",
        *,
        outcome: FailureOutcome = FailureOutcome.FAILED,
        delay_seconds: float | None = None,
    ) -> None:
        super().__init__(f"{code}: {message}" if message else code)
        self.code, self.message = code, message
        self.outcome, self.delay_seconds = outcome, delay_seconds


def verb_of_result(delivery: Delivery, result: HandlerResult) -> Verb | None:
    """What to settle after a handler returned; None: nothing, the lease is not ours any more."""
    if result is None and delivery.stop_seen:
        return verb_of_stop(delivery)
    if isinstance(result, Turn):
        return _turn(delivery, result)
    if isinstance(result, Ack):
        return Ack(_fitting(delivery, result.result))
    if result is None or isinstance(result, Mapping):
        return Ack(_fitting(delivery, result))
    if isinstance(result, Reject):
        return Reject(_plain(str(result.reason))[:MESSAGE_LIMIT] or "rejected by its handler")
    if isinstance(result, Release):
        error = result.error
        if error is None:
            return result
        failure = failed(str(error.code), str(error.message), FailureOutcome(error.outcome))
        return Release(result.delay_seconds, failure)
    kind = type(result).__name__
    failure = failed(
        "handler_result", f"the handler returned {kind}: not None, an object or a verb"
    )
    return Release(error=failure)


def _turn(delivery: Delivery, turn: Turn) -> Verb:
    """The turn with one end of the lease, and its memory as writes."""
    ends = [end for end in (turn.release, turn.reject) if end is not None]
    if len(ends) + (turn.ack is not None) > 1:
        return Release(error=failed("handler_result", "a turn has one of ack, release and reject"))
    end = ends[0] if ends else Ack() if turn.ack is None else turn.ack
    verb = verb_of_result(delivery, end)
    memory = turn.memory
    if isinstance(memory, Mapping):
        project = delivery.event.project
        memory = [MemoryWrite(project, str(key), value) for key, value in memory.items()]
    try:
        jsontext.dumps([*(one.as_json() for one in memory), *(p.as_json() for p in turn.publish)])
    except (AttributeError, TypeError, ValueError) as error:
        return Release(error=failed("handler_result", f"the turn is no JSON: {error}"))
    return Turn(
        ack=verb if isinstance(verb, Ack) else None,
        release=verb if isinstance(verb, Release) else None,
        reject=verb if isinstance(verb, Reject) else None,
        publish=tuple(turn.publish),
        memory=tuple(memory),
    )


def settled_by(turn: Turn) -> Ack | Release | Reject:
    """How a turn of `verb_of_result` ends the lease."""
    for end in (turn.release, turn.reject, turn.ack):
        if isinstance(end, Ack | Release | Reject):
            return end
    return Ack()


def refused_turn(error: ApiError) -> Release:
    """A turn that was refused for what it says: nothing of it was done, and the attempt failed."""
    message = f"the turn was refused: {error}"
    return Release(error=failed(error.slug.replace("-", "_"), message, FailureOutcome.NONE))


def verb_of_error(delivery: Delivery, error: BaseException) -> Verb | None:
    """What to settle after a handler raised."""
    if isinstance(error, Stopped):
        return verb_of_stop(delivery)
    if isinstance(error, AttemptFailed):
        failure = failed(error.code, error.message, error.outcome)
        return Release(delay_seconds=error.delay_seconds, error=failure)
    return Release(error=failed(type(error).__name__, str(error)))


def verb_of_stop(delivery: Delivery) -> Verb | None:
    """A handler that stopped when told: give back what is still ours."""
    if delivery.stop_reason in (StopReason.CANCEL_REQUESTED, StopReason.SHUTDOWN):
        return Release()
    return None


def failed(code: str, message: str, outcome: FailureOutcome = FailureOutcome.FAILED) -> Failure:
    """A failure within the lengths that every server takes; the end of a message says most."""
    code, message = _plain(code), _plain(message)
    return Failure(code[:CODE_LIMIT] or "error", message[-MESSAGE_LIMIT:], outcome)


def _plain(text: str) -> str:
    """Without lone surrogates, which no server takes."""
    return text.encode(errors="replace").decode()


def _fitting(delivery: Delivery, result: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    # The work is done. A result that cannot be kept must not make it be done again.
    if result is None:
        return None
    try:
        size = len(jsontext.dumps(result))
    except (TypeError, ValueError):
        log.exception("drop-result event_id=%s", delivery.event.event_id)
        return None
    if size > RESULT_LIMIT_BYTES:
        log.error("drop-result event_id=%s bytes=%d", delivery.event.event_id, size)
        return None
    return result
