"""The trace that work belongs to (W3C Trace Context), with spans where OpenTelemetry is installed.

The first attempt goes on with its publisher's trace. What comes again, hours later perhaps, is a
trace of its own that is linked to the publisher's: a trace is not to last for as long as an event.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar

from restante_agent.model.event import Event

try:
    from opentelemetry import trace
    from opentelemetry.context import Context
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
except ImportError:  # restante-agent[otel] brings it
    trace = None  # type: ignore[assignment]  # a module otherwise

FIELD = "traceparent"
_handled: ContextVar[str | None] = ContextVar("restante_traceparent", default=None)


@contextmanager
def handling(event: Event) -> Iterator[str | None]:
    """The work of a handler → its traceparent, which calls made meanwhile send."""
    token = _handled.set(event.traceparent)
    try:
        if trace is None:
            yield event.traceparent
            return
        with _span(event):
            yield outgoing()
    finally:
        _handled.reset(token)


def outgoing() -> str | None:
    """The traceparent of a call that is made now."""
    carrier: dict[str, str] = {}
    if trace is not None:
        TraceContextTextMapPropagator().inject(carrier)
    return carrier.get(FIELD) or _handled.get()


def _span(event: Event) -> AbstractContextManager[object]:
    publisher = TraceContextTextMapPropagator().extract({FIELD: event.traceparent or ""}, Context())
    again = event.attempts > 1 or bool(event.redriven)
    of_publisher = trace.get_current_span(publisher).get_span_context()
    return trace.get_tracer("restante_agent").start_as_current_span(
        f"handle {event.type}",
        context=Context() if again else publisher,
        links=[trace.Link(of_publisher)] if again and of_publisher.is_valid else None,
        kind=trace.SpanKind.CONSUMER,
        # what an exception says may be of the payload: the handler's log has it
        record_exception=False,
        attributes={
            "messaging.system": "restante",
            "messaging.operation.type": "process",
            "messaging.destination.name": event.project,
            "messaging.message.id": event.event_id,
            "restante.attempt": event.attempts,
            **({"messaging.message.conversation_id": c} if (c := event.correlation_id) else {}),
        },
    )
