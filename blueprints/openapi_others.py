"""Operations that are no endpoints: the stream, health, figures. Written by hand; a test compares them."""

from __future__ import annotations

from typing import Any

from blueprints import examples
from blueprints.openapi_answers import ALWAYS, headers, problems
from blueprints.openapi_oauth import OAUTH
from blueprints.openapi_plain import TEXT, json_answer, object_of
from blueprints.problems import KINDS

_FRAMES = """retry: 4130
event: ready
data: {"epoch":"0198c5a1f3e87c2493b5d7f9012a4c6e","head":1045,"claimable":3,"heartbeat_seconds":30}

event: inbox_updated
data: {"cursor_hint":1046}

event: heartbeat
data: {}

event: reconnect
data: {"reason":"shutdown","retry_after_ms":1234}

"""


_stream_problems: dict[int, list[Any]] = {}
for _error in ALWAYS:
    _kind = KINDS[_error]
    _stream_problems.setdefault(_kind.status, []).append(_kind)

SUBSCRIBE: dict[str, Any] = {
    "operationId": "subscribe",
    "tags": ["Inbox"],
    "summary": "Subscribe to the doorbell",
    "description": "Server-sent events that say that something is there, never what. `inbox_updated` rings "
    "when something can be claimed or head has moved; rings coalesce. `heartbeat` comes at least every "
    "`heartbeat_seconds`: a client that hears nothing for two and a half times as long connects again. "
    "After `reconnect` wait `retry_after_ms`; after `revoked` get a new token. The stream ends with its "
    "token. For a browser's EventSource, which sends no token, `ticket` is one of `subscribe-tickets` "
    "instead of the token. What is allowed to which pages, the tenant's `allowed_origins` say.",
    "security": [{"token": ["agent:<project>:read"]}],
    "parameters": [
        {
            "name": "agent_id",
            "in": "path",
            "required": True,
            "description": "The agent whose inbox it is.",
            "schema": TEXT,
            "example": examples.AGENT_ID,
        },
        {
            "name": "after_cursor",
            "in": "query",
            "required": False,
            "description": "Rings at once when head is beyond it.",
            "schema": {"type": "integer", "minimum": 0, "maximum": 9223372036854775807},
        },
        {
            "name": "ticket",
            "in": "query",
            "required": False,
            "description": "A ticket, good once, and no Authorization field with it. Tokens are never taken "
            "from a query.",
            "schema": TEXT,
        },
    ],
    "responses": {
        "200": {
            "description": "The stream.",
            "headers": headers(),
            "content": {
                "text/event-stream": {"schema": TEXT, "examples": {"frames": {"value": _FRAMES}}}
            },
        },
        **{str(status): problems(kinds) for status, kinds in sorted(_stream_problems.items())},
    },
}

LIVE: dict[str, Any] = {
    "operationId": "live",
    "tags": ["Operation"],
    "summary": "Does the process answer?",
    "description": "For whoever restarts it.",
    "security": [],
    "responses": {
        "200": json_answer("It does.", object_of(status={"const": "live"}), {"status": "live"})
    },
}

READY: dict[str, Any] = {
    "operationId": "ready",
    "tags": ["Operation"],
    "summary": "May traffic come?",
    "description": "`maintenance_lag_seconds`: for how long the oldest timer has been due.",
    "security": [],
    "responses": {
        "200": json_answer(
            "It may.",
            object_of(status={"const": "ready"}, maintenance_lag_seconds={"type": "number"}),
            {"status": "ready", "maintenance_lag_seconds": 0.0},
        ),
        "503": json_answer(
            "Not now.",
            object_of(status={"enum": ["draining", "no_database"]}),
            {"status": "draining"},
        ),
    },
}

METRICS: dict[str, Any] = {
    "operationId": "metrics",
    "tags": ["Operation"],
    "summary": "Read the figures",
    "description": "For Prometheus. From the last sample and from counters: a scrape asks the database "
    "nothing.",
    "security": [],
    "responses": {
        "200": {
            "description": "The figures.",
            "headers": headers(),
            "content": {
                "text/plain": {
                    "schema": TEXT,
                    "examples": {"figures": {"value": 'claims_total{kind="first"} 1045.0\n'}},
                }
            },
        }
    },
}

OTHERS: dict[str, dict[str, Any]] = {
    "/api/v1/agents/{agent_id}/subscribe": {"get": SUBSCRIBE},
    **OAUTH,
    "/health/live": {"get": LIVE},
    "/health/ready": {"get": READY},
    "/metrics": {"get": METRICS},
}
