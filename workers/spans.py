"""Where spans of requests go: to the collector that OpenTelemetry's own variables name, else nowhere."""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
LAST_SECONDS = 2.0
"""So long the end of a process waits for its last spans to be taken."""


def wanted(environ: Mapping[str, str]) -> bool:
    """Whether a collector is named."""
    off = environ.get("OTEL_SDK_DISABLED", "").lower() == "true"
    return not off and any(environ.get(name) for name in ENDPOINTS)


def can_be_had() -> bool:
    """Whether what sends them is installed: restante[otel]."""
    try:
        return importlib.util.find_spec("opentelemetry.exporter.otlp.proto.http") is not None
    except ModuleNotFoundError:
        return False


def make_spans(environ: Mapping[str, str]) -> TracerProvider | None:
    """Where spans go, or None. It starts a thread, so it is made after the fork."""
    if not wanted(environ) or not can_be_had():
        return None
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - an extra
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - likewise
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - likewise
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415 - likewise

    named = "OTEL_SERVICE_NAME" in environ or "service.name=" in environ.get(
        "OTEL_RESOURCE_ATTRIBUTES", ""
    )
    resource = Resource.create({} if named else {"service.name": "restante"})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


def send_the_last(provider: TracerProvider) -> None:
    """Have what waits sent, but not at any price: its own time-out is not kept where a collector is away."""
    sending = threading.Thread(target=provider.force_flush, daemon=True, name="restante-spans")
    sending.start()
    sending.join(LAST_SECONDS)
