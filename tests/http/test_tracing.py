"""Spans of requests, and the traceparent that events are stored with."""

from __future__ import annotations

import threading

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import (
    BatchSpanProcessor,
    SimpleSpanProcessor,
    SpanExporter,
    SpanExportResult,
)
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from blueprints import tracing
from tests.http.world import Caller, World, verbs
from workers import spans as where
from workers.spans import make_spans

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SENT = f"00-{TRACE}-{SPAN}-01"


@pytest.fixture
def spans(world: World) -> InMemorySpanExporter:
    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    tracing.install(world.app, provider)
    return kept


@pytest.fixture
def traced(world: World, spans: InMemorySpanExporter) -> Caller:
    """An agent, whose sign-in is seen no more."""
    one = world.agent("acme", "alice", verbs("main"))
    spans.clear()
    return one


def test_a_request_goes_on_with_the_trace_that_its_caller_named(
    traced: Caller, spans: InMemorySpanExporter
) -> None:
    body = {
        "recipients": [traced.id],
        "project": "main",
        "type": "note",
        "payload": {"n": "planted"},
    }
    answer = traced.post("events", body, headers={"traceparent": SENT, "X-Request-Id": "r1"})
    (event,) = answer.json["events"]
    (span,) = spans.get_finished_spans()
    assert span.name == "POST /api/v1/events"
    assert span.kind is SpanKind.SERVER
    assert span.context.trace_id == int(TRACE, 16)
    assert span.parent is not None
    assert span.parent.span_id == int(SPAN, 16)
    assert span.attributes is not None
    assert span.attributes["restante.agent"] == traced.id
    assert str(span.attributes["restante.tenant"]).startswith("ten_")
    assert span.attributes["restante.events"] == event["event_id"]
    assert span.attributes["restante.request_id"] == "r1"
    assert span.attributes["http.response.status_code"] == 201
    assert "planted" not in span.to_json()
    # as it was sent, whatever span there was meanwhile
    assert [claimed["traceparent"] for claimed in traced.claim()] == [SENT]


def test_an_event_of_nobodys_trace_is_stored_with_that_of_its_publication(
    traced: Caller, spans: InMemorySpanExporter
) -> None:
    traced.publish(traced)
    published = spans.get_finished_spans()[-1]
    (event,) = traced.claim()
    assert event["traceparent"].split("-")[1:3] == [
        f"{published.context.trace_id:032x}",
        f"{published.context.span_id:016x}",
    ]
    ack = {"claim_generation": event["claim_generation"]}
    traced.post(f"A/inbox/{event['event_id']}/ack", ack, headers={"traceparent": SENT})
    settled = spans.get_finished_spans()[-1]
    assert settled.context.trace_id == int(TRACE, 16)
    assert settled.attributes is not None
    assert settled.attributes["restante.events"] == event["event_id"]
    # a claim of a traced server is not one of a trace: its timeline stays empty
    assert traced.get(f"A/inbox/{event['event_id']}").json["timeline"] == []


def test_what_is_refused_and_what_names_no_route_have_their_spans(
    world: World, traced: Caller, spans: InMemorySpanExporter
) -> None:
    world.client.get("/nowhere/planted", headers={"traceparent": "00-planted"})
    world.client.get(
        f"/api/v1/agents/{traced.id}/inbox", headers={"Authorization": "Bearer planted"}
    )
    nowhere, refused = spans.get_finished_spans()
    assert (nowhere.name, nowhere.parent) == ("GET", None)
    assert refused.name == "GET /api/v1/agents/<agent_id>/inbox"
    assert not [span for span in (nowhere, refused) if "planted" in span.to_json()]


def test_a_collector_that_is_away_does_not_hold_up_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(where, "LAST_SECONDS", 0.01)
    away, asked = threading.Event(), threading.Event()

    class Away(SpanExporter):
        def export(self, spans: object) -> SpanExportResult:
            asked.set()
            away.wait(20)
            return SpanExportResult.FAILURE

    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(Away(), schedule_delay_millis=60_000))
    provider.get_tracer("x").start_span("x").end()
    try:
        where.send_the_last(provider)
        assert asked.wait(20)
        assert not away.is_set()  # it is still at it
    finally:
        away.set()


def test_without_a_collector_nothing_is_traced(
    world: World, alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert world.house.spans is None
    alice.publish(alice)
    assert alice.claim()[0]["traceparent"] is None
    assert make_spans({}) is None
    named = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}
    assert make_spans({**named, "OTEL_SDK_DISABLED": "true"}) is None
    monkeypatch.setattr(where, "can_be_had", lambda: False)
    assert make_spans(named) is None
