"""A span for each delivery, which goes on with its event's trace; signatures do not know of it."""

from __future__ import annotations

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from restante.egress.refusal import Cause
from restante.storage.ids import Prefix, encode_id
from restante.webhooks.callbacks import Mode
from restante.webhooks.relay import Relay
from restante.webhooks.tracing import untraced
from tests.engine.hooks import VERBS, Hooks
from tests.factories import Mailbox, make_tenant, pass_time
from tests.http.callbacks import http
from tests.support.databases import TestDatabase
from workers.delivery_spans import delivery_spans

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SENT = f"00-{TRACE}-{SPAN}-01"


@pytest.fixture
def hooks(database: TestDatabase) -> Hooks:
    made = Hooks(database)
    made.receiver.answering = lambda _: http(b"")
    return made


@pytest.fixture
def mail(database: TestDatabase) -> Mailbox:
    return make_tenant(database).agent(verbs=VERBS)


@pytest.fixture
def kept() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def relay(hooks: Hooks, kept: InMemorySpanExporter) -> Relay:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    made = hooks.relay()
    made._tracing = delivery_spans(provider)
    return made


def head(sent: bytes) -> dict[str, str]:
    lines = sent.partition(b"\r\n\r\n")[0].decode().split("\r\n")[1:]
    return {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}


def told(span: ReadableSpan) -> dict[str, object]:
    return {
        name.removeprefix("restante."): value
        for name, value in (span.attributes or {}).items()
        if name in ("restante.outcome", "restante.attempt", "http.response.status_code")
    }


def test_a_delivery_is_a_span_of_its_events_trace_and_says_so(
    hooks: Hooks, mail: Mailbox, relay: Relay, kept: InMemorySpanExporter
) -> None:
    event_id = mail.publish(traceparent=SENT, payload=b'{"n":"planted"}').event_id
    one = hooks.active(mail)
    assert hooks.pass_once(relay) == 1
    (span,) = kept.get_finished_spans()
    assert (span.name, span.kind) == ("callback deliver", SpanKind.CLIENT)
    assert span.context.trace_id == int(TRACE, 16)
    assert span.parent is not None
    assert span.parent.span_id == int(SPAN, 16)
    attributes = span.attributes or {}
    assert attributes["messaging.message.id"] == encode_id(Prefix.EVENT, event_id)
    assert attributes["restante.callback"] == one.public_id
    assert attributes["restante.agent"] == mail.agent.public_id
    assert told(span) == {"attempt": 1, "outcome": "delivered", "http.response.status_code": 200}
    fields = head(hooks.receiver.requests[0])
    assert fields["traceparent"] == f"00-{TRACE}-{span.context.span_id:016x}-01"
    assert "traceparent" not in fields["signature-input"]
    assert "planted" not in span.to_json()
    assert one.url not in span.to_json()


def test_each_attempt_has_one_and_those_that_came_to_nothing_are_errors(
    hooks: Hooks, mail: Mailbox, relay: Relay, kept: InMemorySpanExporter
) -> None:
    mail.publish(traceparent=SENT)
    one = hooks.active(mail)
    hooks.receiver.failing = Cause.CONNECT
    hooks.pass_once(relay)
    hooks.receiver.failing = None
    hooks.receiver.answering = lambda _: http(b"", status=503)
    pass_time(hooks.database, 2)
    hooks.make_due(one)
    hooks.pass_once(relay)
    hooks.receiver.answering = lambda _: http(b"", status=202)
    pass_time(hooks.database, 2)
    hooks.make_due(one)
    hooks.pass_once(relay)
    spans = kept.get_finished_spans()
    assert [told(span)["outcome"] for span in spans] == ["failed", "failed", "accepted"]
    assert [told(span).get("http.response.status_code") for span in spans] == [None, 503, 202]
    assert [span.status.is_ok for span in spans] == [False, False, True]
    assert {span.context.trace_id for span in spans} == {int(TRACE, 16)}
    assert len({span.context.span_id for span in spans}) == 3


def test_what_only_says_that_something_is_there_begins_a_trace(
    hooks: Hooks, mail: Mailbox, relay: Relay, kept: InMemorySpanExporter
) -> None:
    mail.publish(traceparent=SENT)
    hooks.active(mail, mode=Mode.NOTIFY)
    assert hooks.pass_once(relay) == 1
    (span,) = kept.get_finished_spans()
    assert (span.name, span.parent) == ("callback notify", None)
    assert head(hooks.receiver.requests[0])["traceparent"].split("-")[2] == (
        f"{span.context.span_id:016x}"
    )


def test_where_no_spans_are_sent_the_events_trace_goes_with_it(hooks: Hooks, mail: Mailbox) -> None:
    assert delivery_spans(None) is untraced
    mail.publish(traceparent=SENT)
    mail.publish()
    hooks.active(mail)
    assert hooks.pass_once() == 2
    fields = [head(sent).get("traceparent") for sent in hooks.receiver.requests]
    assert fields == [SENT, None]
