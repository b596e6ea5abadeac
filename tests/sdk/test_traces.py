"""A handler works in its publisher's trace, and what it calls is told; OpenTelemetry is optional."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import anyio
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from restante_agent import (
    AsyncAgent,
    AsyncClient,
    AttemptFailed,
    Client,
    Delivery,
    NotFound,
    traces,
)
from tests.sdk.fake_answers import AGENT, SECRET
from tests.sdk.fake_inbox import FakeInbox
from tests.sdk.fake_server import FakeServer
from tests.sdk.running import make

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SENT = f"00-{TRACE}-{SPAN}-01"


@cache
def exporter() -> InMemorySpanExporter:
    """That of this process: OpenTelemetry takes one provider."""
    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    trace.set_tracer_provider(provider)
    return kept


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    exporter().clear()
    yield exporter()
    exporter().clear()


def sent_with(inbox: FakeInbox, ending: str) -> list[str | None]:
    """The traceparents of the calls to an address."""
    return [
        fields.get("traceparent") for _, path, fields, _ in inbox.requests if path.endswith(ending)
    ]


def call_twice(server: FakeServer, tmp_path: Path) -> tuple[str, list[str | None]]:
    """A handler that makes a call, fails the first time, and makes it again."""
    event_id = server.inbox.publish(traceparent=SENT, correlation_id="c-1")
    told: list[str | None] = []

    def handle(delivery: Delivery) -> None:
        told.append(delivery.traceparent)
        with suppress(NotFound):  # what the fake was sent is looked at
            client.cancel("evt_other", reason="not needed")
        if len(told) == 1:
            raise AttemptFailed("later", delay_seconds=0)

    with Client(server.url, AGENT, SECRET) as client:
        make(server, handle, tmp_path).run(until_empty=True)
    return event_id, told


def test_the_first_attempt_goes_on_with_the_publishers_trace_and_a_later_one_is_linked(
    server: FakeServer, tmp_path: Path, spans: InMemorySpanExporter
) -> None:
    event_id, told = call_twice(server, tmp_path)
    first, again = spans.get_finished_spans()
    contexts = [first.context, again.context]
    assert first.context.trace_id == int(TRACE, 16)
    assert first.parent is not None
    assert first.parent.span_id == int(SPAN, 16)
    assert first.kind is trace.SpanKind.CONSUMER
    assert not first.status.is_ok
    assert first.attributes is not None
    assert first.attributes["messaging.message.id"] == event_id
    assert first.attributes["messaging.message.conversation_id"] == "c-1"
    assert not first.links
    assert again.parent is None
    assert again.context.trace_id != first.context.trace_id
    assert [link.context.span_id for link in again.links] == [int(SPAN, 16)]
    assert [json.loads(s.to_json())["attributes"]["restante.attempt"] for s in (first, again)] == [
        1,
        2,
    ]
    named = [f"00-{c.trace_id:032x}-{c.span_id:016x}-{c.trace_flags:02x}" for c in contexts]
    assert told == named
    assert sent_with(server.inbox, "/cancel") == named
    assert set(sent_with(server.inbox, "/claim")) == {None}


def test_a_call_outside_a_handler_names_the_programs_own_span(
    server: FakeServer, spans: InMemorySpanExporter
) -> None:
    with Client(server.url, AGENT, SECRET) as client:
        with trace.get_tracer("program").start_as_current_span("work") as span, suppress(NotFound):
            client.cancel("evt_other", reason="not needed")
        with suppress(NotFound):
            client.cancel("evt_other", reason="not needed")
    context = span.get_span_context()
    own = f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"
    assert sent_with(server.inbox, "/cancel") == [own, None]


def test_without_opentelemetry_the_publishers_trace_is_handed_on(
    server: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traces, "trace", None)
    _, told = call_twice(server, tmp_path)
    assert told == [SENT, SENT]
    assert sent_with(server.inbox, "/cancel") == [SENT, SENT]
    assert traces.outgoing() is None


def test_the_async_runner_does_the_same(
    server: FakeServer, tmp_path: Path, spans: InMemorySpanExporter
) -> None:
    server.inbox.publish(traceparent=SENT)
    server.inbox.publish()  # of nobody's trace
    told: list[str | None] = []

    async def handle(delivery: Delivery) -> None:
        await anyio.lowlevel.checkpoint()
        told.append(traces.outgoing())
        assert delivery.traceparent == traces.outgoing()

    async def run() -> None:
        async with AsyncClient(server.url, AGENT, SECRET) as client:
            agent = AsyncAgent(client, handle, state_dir=tmp_path)
            await agent.run(until_empty=True)

    asyncio.run(run())
    by_trace = {
        span.context.trace_id == int(TRACE, 16): span for span in spans.get_finished_spans()
    }
    assert by_trace[True].parent is not None
    assert by_trace[False].parent is None
    assert len(set(told)) == 2
