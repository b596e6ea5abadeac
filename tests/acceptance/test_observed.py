"""What a served installation says of its work: lines with ids, spans to a collector, nothing of what came."""

from __future__ import annotations

import json
import socket
import sqlite3
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from sqlalchemy.engine import make_url

from tests.acceptance.conftest import Serve, upgraded
from tests.acceptance.stage import Stage, call, token_of
from tests.support.serving import SECRET_KEY
from tests.support.waiting import wait_until

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
MARK = "pl4nted"
"""Stands in everything that callers say."""


@dataclass
class Collector:
    """Takes spans as an OpenTelemetry collector does."""

    texts: list[bytes] = field(default_factory=list)

    def __post_init__(self) -> None:
        texts = self.texts

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                texts.append(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def spans(self) -> list[Any]:
        """All that came, in the order in which it did."""
        return [
            span
            for text in self.texts
            for resource in ExportTraceServiceRequest.FromString(text).resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]


@pytest.fixture
def collector() -> Iterator[Collector]:
    one = Collector()
    yield one
    one.server.shutdown()
    one.server.server_close()


def raw(url: str, body: bytes, **fields: str) -> int:
    """The status of a POST whose body is no JSON that we would write."""
    request = urllib.request.Request(url, body, fields)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


@contextmanager
def renamed(database_url: str, table: str) -> Iterator[None]:
    """The table is not where statements look for it."""
    file = make_url(database_url).database or ""
    for old, new in ((table, "away"), ("away", table)):
        connection = sqlite3.connect(file)
        connection.execute(f"ALTER TABLE {old} RENAME TO {new}")
        connection.close()
        if new == "away":
            yield


def unreadable(port: int) -> None:
    """A request that gunicorn refuses below the application."""
    sent = f"GET /{MARK}?ticket={MARK} HTTP/1.1\r\nHost: x\r\nAuthorization {MARK}: {MARK}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), 10) as line:
        line.sendall(sent.encode())
        assert line.recv(12) == b"HTTP/1.1 400"


def say_much(stage: Stage) -> list[str]:
    """Calls of every kind that carry payloads and secrets, good and bad; the secrets among them."""
    url = stage.served.url
    token, asks = stage.token(stage.agent), f"{url}/api/v1/events"
    said = {"payload": {"type": MARK, "text": MARK}, "correlation_id": MARK, "ordering_key": MARK}
    for _ in range(3):
        stage.publish(**said)
    (event,) = stage.claim()
    at = stage.address(f"inbox/{event['event_id']}")
    failure = {"code": MARK, "message": MARK, "outcome": "failed"}
    generation = {"claim_generation": event["claim_generation"]}
    call(f"{at}/renew", token, {**generation, "progress": {"text": MARK}})
    call(f"{at}/release", token, {**generation, "error": failure, "delay_seconds": 0})
    (event,) = stage.claim()
    at = stage.address(f"inbox/{event['event_id']}")
    call(f"{at}/reject", token, {"claim_generation": event["claim_generation"], "reason": MARK})
    call(f"{at}/ack", token, {"claim_generation": 99, "result": {"text": MARK}})
    call(stage.address(f"memory/p/{MARK}"), token, {"value": MARK}, method="PUT")
    call(f"{asks}?{MARK}={MARK}", token)
    call(asks, stage.token(stage.producer), {MARK: MARK})
    bearer = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    raw(asks, f'{{"payload": {MARK}'.encode(), **bearer)
    raw(asks, b"{}", **{**bearer, "Authorization": f"Bearer {MARK}"})
    raw(asks, b"{}", **{**bearer, "Idempotency-Key": f"{MARK} \u00e4".encode().decode("latin-1")})
    wrong = {**stage.agent, "client_secret": f"{MARK}-secret"}
    with pytest.raises(urllib.error.HTTPError):
        token_of(url, wrong)
    secret = f"whsec_{MARK}{'x' * 32}"
    hook = {"url": f"https://{MARK}.example.com/?k={MARK}", "secret": secret, "mode": "notify"}
    call(stage.address("callbacks"), token, hook)
    raw(f"{url}/sign-in/{MARK}", b"csrf=")
    raw(f"{url}/{MARK}?ticket={MARK}", b"")
    unreadable(stage.served.port)
    return [
        SECRET_KEY,
        stage.agent["client_secret"],
        stage.producer["client_secret"],
        *stage.tokens.values(),
    ]


def test_logs_and_spans_have_ids_and_never_what_was_sent(
    migrated_on: Callable[[str], str], serve: Serve, collector: Collector, tmp_path: Path
) -> None:
    url = migrated_on("sqlite")
    settings = {
        "RESTANTE_INSTANCE": str(tmp_path / "instance"),
        "RESTANTE_LOG_FORMAT": "json",
        "RESTANTE_LOG_REQUESTS": "on",
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "OTEL_BSP_SCHEDULE_DELAY": "100",
    }
    one = Stage(upgraded(url), serve(url, settings=settings))
    scope = " ".join(
        f"agent:p:{verb}" for verb in ("read", "claim", "memory", "callback", "publish")
    )
    one.agent = one.enrol("busy", grants=scope.split())
    one.tokens[one.agent["client_id"]] = token_of(one.served.url, one.agent, scope=scope)
    secrets = say_much(one)
    first = one.publish()
    # a fault of ours: the traceback has its statement, and no value of it
    with renamed(url, "event_content"):
        body = {"recipients": [one.agent["agent_id"]], "project": "p", "type": "t"}
        status, told = call(
            f"{one.served.url}/api/v1/events",
            one.token(one.producer),
            {**body, "payload": {"text": MARK}},
        )
        assert status == 500
    wait_until(lambda: len(collector.spans()) > 10, "spans at the collector")
    assert one.served.stop() == 0

    text = one.served.log.read_text()
    serving = text.partition("Restante serves on")[2].splitlines()[1:]
    lines = [json.loads(line) for line in serving]
    assert [line for line in lines if line["logger"] == "gunicorn.error"]
    requests = [line for line in lines if line["verb"] == "request"]
    published = next(line for line in requests if line.get("events") == first["event_id"])
    assert published["service"] == one.producer["agent_id"]
    assert published["tenant"].startswith("ten_")
    assert len(published["request_id"]) == 32
    assert any(line.get("agent") == one.agent["agent_id"] for line in requests)
    (failed,) = [line for line in lines if line["verb"] == "request_failed"]
    assert failed["request_id"] == told["request_id"]
    assert "no such table" in failed["error"]
    spans = collector.spans()
    assert "POST /api/v1/events" in {span.name for span in spans}
    sent = b"".join(collector.texts).decode("latin-1")
    for secret in (MARK, *secrets):
        assert secret not in text, f"{secret} is in the log"
        assert secret not in sent, f"{secret} is in a span"
