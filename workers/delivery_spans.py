"""A span for each delivery to a callback, in the trace of the event that is delivered."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from restante.storage.ids import Prefix, encode_id
from restante.webhooks.delivery import Parcel, Result
from restante.webhooks.outcomes import Outcome
from restante.webhooks.tracing import Attempt, Tracing, untraced
from restante.webhooks.turns import Turn

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span

TAKEN = (Outcome.DELIVERED, Outcome.ACCEPTED)


def delivery_spans(provider: TracerProvider | None) -> Tracing:
    """How a relay's deliveries are traced; without a provider nothing is loaded."""
    if provider is None:
        return untraced
    from opentelemetry.context import Context  # noqa: PLC0415 - an extra
    from opentelemetry.trace import SpanKind, set_span_in_context  # noqa: PLC0415 - likewise
    from opentelemetry.trace.propagation.tracecontext import (  # noqa: PLC0415 - likewise
        TraceContextTextMapPropagator,
    )

    tracer = provider.get_tracer("restante")
    w3c = TraceContextTextMapPropagator()

    @contextmanager
    def traced(turn: Turn, parcel: Parcel) -> Iterator[Attempt]:
        one = turn.callback
        span = tracer.start_span(
            f"callback {one.mode.value}",
            context=w3c.extract({"traceparent": parcel.traceparent or ""}, Context()),
            kind=SpanKind.CLIENT,
            attributes={
                "http.request.method": "POST",
                "messaging.system": "restante",
                "messaging.message.id": parcel.message_id,
                "restante.tenant": encode_id(Prefix.TENANT, one.tenant_id),
                "restante.agent": parcel.agent.public_id,
                "restante.callback": one.public_id,
                "restante.attempt": parcel.attempt,
            },
        )
        own: dict[str, str] = {}
        w3c.inject(own, set_span_in_context(span, Context()))
        try:
            yield _Traced(span, own.get("traceparent", parcel.traceparent))
        finally:
            span.end()

    return traced


class _Traced:
    """`traceparent`: the span's, so that what its receiver does follows from it."""

    def __init__(self, span: Span, traceparent: str | None) -> None:
        self._span = span
        self.traceparent = traceparent

    def ended(self, result: Result) -> None:
        from opentelemetry.trace import StatusCode  # noqa: PLC0415 - an extra

        self._span.set_attribute("restante.outcome", result.outcome.value)
        if result.status is not None:
            self._span.set_attribute("http.response.status_code", result.status)
        if result.outcome not in TAKEN:
            self._span.set_status(StatusCode.ERROR)
