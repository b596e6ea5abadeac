"""A span for each request, where spans go somewhere; it goes on with the trace that the caller named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Flask, Request, Response, request

from blueprints.bodies import traceparent
from blueprints.request_facts import facts, route_of

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

_SPAN = "restante.span"
_OWN = "restante.traceparent"


def publishers_traceparent(asked: Request) -> str | None:
    """What events are stored with: the trace their publisher named, else that of the request's span."""
    return traceparent(asked) or asked.environ.get(_OWN)


def install(app: Flask, provider: TracerProvider | None) -> None:
    """Have requests traced. Without a provider nothing is loaded and nothing asked of a request."""
    if provider is None:
        return
    from opentelemetry.context import Context  # noqa: PLC0415 - an extra
    from opentelemetry.trace import SpanKind, StatusCode, set_span_in_context  # noqa: PLC0415 - likewise
    from opentelemetry.trace.propagation.tracecontext import (  # noqa: PLC0415 - likewise
        TraceContextTextMapPropagator,
    )

    tracer = provider.get_tracer("restante")
    w3c = TraceContextTextMapPropagator()

    def begin() -> None:
        route = route_of(request)
        came = traceparent(request)
        span = tracer.start_span(
            f"{request.method} {route}".strip(),
            context=w3c.extract({"traceparent": came or ""}, Context()),
            kind=SpanKind.SERVER,
            attributes={"http.request.method": request.method, "http.route": route},
        )
        request.environ[_SPAN] = span
        own: dict[str, str] = {}
        w3c.inject(own, set_span_in_context(span, Context()))
        request.environ[_OWN] = own.get("traceparent")

    def end(answer: Response) -> Response:
        span = request.environ.pop(_SPAN, None)
        if span is not None:
            span.set_attribute("http.response.status_code", answer.status_code)
            span.set_attributes({f"restante.{name}": text for name, text in facts(request).items()})
            if answer.status_code >= 500:
                span.set_status(StatusCode.ERROR)
            span.end()
        return answer

    app.before_request(begin)
    app.after_request(end)
