"""Operations that are no endpoints: the stream, health, figures. Written by hand; a test compares them."""

from __future__ import annotations

from typing import Any

from blueprints import examples
from blueprints.openapi_answers import ALWAYS, WITH_BODY, headers, problems
from blueprints.openapi_oauth import OAUTH
from blueprints.openapi_plain import TEXT, json_answer, object_of
from blueprints.problems import KINDS
from restante import errors
from restante.bridges.a2a import TOKEN_FIELD

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


_NOTIFICATION = {
    "statusUpdate": {
        "taskId": "0198c5b2-7c3d-7e40-8f1a-2b3c4d5e6f70",
        "contextId": "trip-17",
        "status": {"state": "TASK_STATE_COMPLETED", "timestamp": "2031-05-01T09:30:00Z"},
    }
}
_notify_problems: dict[int, list[Any]] = {}
for _error in (
    *ALWAYS,
    *WITH_BODY,
    errors.RecipientRefused,
    errors.InboxFull,
    errors.PayloadTooLarge,
):
    if KINDS[_error] not in _notify_problems.setdefault(KINDS[_error].status, []):
        _notify_problems[KINDS[_error].status].append(KINDS[_error])
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

NOTIFY: dict[str, Any] = {
    "operationId": "notify",
    "tags": ["Publishing"],
    "summary": "Take an A2A push notification",
    "description": "For A2A servers, which are told address and token by `POST /api/v1/a2a/receivers`. "
    "Taken are the notifications of A2A 1.0 (a StreamResponse) and 0.3 (a task).",
    "security": [],
    "parameters": [
        {
            "name": TOKEN_FIELD,
            "in": "header",
            "required": True,
            "description": "The token of the push notification configuration.",
            "schema": TEXT,
        }
    ],
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {"type": "object"},
                "examples": {"status": {"value": _NOTIFICATION}},
            }
        },
    },
    "responses": {
        "204": {"description": "It is an event of the inbox.", "headers": headers()},
        **{str(status): problems(kinds) for status, kinds in sorted(_notify_problems.items())},
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
    "/api/v1/a2a/notifications": {"post": NOTIFY},
    "/api/v1/agents/{agent_id}/subscribe": {"get": SUBSCRIBE},
    **OAUTH,
    "/health/live": {"get": LIVE},
    "/health/ready": {"get": READY},
    "/metrics": {"get": METRICS},
}
