"""Operations that are no endpoints: the stream, tokens, health. Written by hand; a test compares them."""

from __future__ import annotations

from typing import Any

from blueprints import examples
from blueprints.openapi_answers import ALWAYS, headers, problems
from blueprints.problems import KINDS

_ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {"error": {"type": "string"}, "error_description": {"type": "string"}},
}
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


def _json(description: str, schema: dict[str, Any], example: Any, *names: str) -> dict[str, Any]:
    return {
        "description": description,
        "headers": headers(*names),
        "content": {
            "application/json": {"schema": schema, "examples": {"answer": {"value": example}}}
        },
    }


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": list(properties), "properties": properties}


_TEXT = {"type": "string"}
_URL = {"type": "string", "format": "uri"}

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
    "token.",
    "security": [{"token": ["agent:<project>:read"]}],
    "parameters": [
        {
            "name": "agent_id",
            "in": "path",
            "required": True,
            "description": "The agent whose inbox it is.",
            "schema": _TEXT,
            "example": examples.AGENT_ID,
        },
        {
            "name": "after_cursor",
            "in": "query",
            "required": False,
            "description": "Rings at once when head is beyond it.",
            "schema": {"type": "integer", "minimum": 0, "maximum": 9223372036854775807},
        },
    ],
    "responses": {
        "200": {
            "description": "The stream.",
            "headers": headers(),
            "content": {
                "text/event-stream": {"schema": _TEXT, "examples": {"frames": {"value": _FRAMES}}}
            },
        },
        **{str(status): problems(kinds) for status, kinds in sorted(_stream_problems.items())},
    },
}

TOKEN: dict[str, Any] = {
    "operationId": "token",
    "tags": ["OAuth"],
    "summary": "Get an access token",
    "description": "OAuth 2.0 client credentials (RFC 6749, section 4.4) with HTTP Basic. Without `scope` "
    "an agent gets `read` and `claim` for its projects and a service all that it has.",
    "security": [{"client": []}],
    "requestBody": {
        "required": True,
        "content": {
            "application/x-www-form-urlencoded": {
                "schema": {
                    "type": "object",
                    "required": ["grant_type"],
                    "properties": {"grant_type": {"const": "client_credentials"}, "scope": _TEXT},
                },
                "examples": {
                    "plain": {"value": {"grant_type": "client_credentials"}},
                    "scoped": {
                        "value": {
                            "grant_type": "client_credentials",
                            "scope": "agent:main:read agent:main:claim agent:main:publish",
                        }
                    },
                },
            }
        },
    },
    "responses": {
        "200": _json(
            "The token.",
            _object(
                access_token=_TEXT, token_type=_TEXT, expires_in={"type": "integer"}, scope=_TEXT
            ),
            {
                "access_token": "eyJ…",
                "token_type": "Bearer",
                "expires_in": 600,
                "scope": "agent:main:claim agent:main:read",
            },
        ),
        "400": _json("The request is refused.", _ERROR, {"error": "invalid_scope"}),
        "401": _json(
            "The client is not known.", _ERROR, {"error": "invalid_client"}, "WWW-Authenticate"
        ),
        "405": _json(
            "Tokens are asked for by POST.",
            _ERROR,
            {"error": "invalid_request", "error_description": "Tokens are asked for by POST."},
            "Allow",
        ),
        "413": _json("The body is too large.", _ERROR, {"error": "invalid_request"}),
        "429": _json(
            "Too many failures.", _ERROR, {"error": "temporarily_unavailable"}, "Retry-After"
        ),
        "500": _json("Something went wrong.", _ERROR, {"error": "server_error"}),
        "503": _json(
            "The database is busy.", _ERROR, {"error": "temporarily_unavailable"}, "Retry-After"
        ),
    },
}

KEYS: dict[str, Any] = {
    "operationId": "key_set",
    "tags": ["OAuth"],
    "summary": "Read the public keys of access tokens",
    "description": "A JSON Web Key Set (RFC 7517).",
    "security": [],
    "responses": {
        "200": _json(
            "The keys.",
            _object(keys={"type": "array", "items": {"type": "object"}}),
            {
                "keys": [
                    {
                        "kty": "OKP",
                        "crv": "Ed25519",
                        "kid": "2031-05",
                        "use": "sig",
                        "x": "11qYAYKxCrfVS_…",
                    }
                ]
            },
        ),
        "500": _json("Something went wrong.", _ERROR, {"error": "server_error"}),
        "503": _json(
            "The database is busy.", _ERROR, {"error": "temporarily_unavailable"}, "Retry-After"
        ),
    },
}

METADATA: dict[str, Any] = {
    "operationId": "metadata",
    "tags": ["OAuth"],
    "summary": "Read what the authorization server can do",
    "description": "RFC 8414.",
    "security": [],
    "responses": {
        "200": _json(
            "The metadata.",
            _object(issuer=_URL, token_endpoint=_URL, jwks_uri=_URL),
            {
                "issuer": "https://inbox.example.com",
                "token_endpoint": "https://inbox.example.com/oauth/token",
                "jwks_uri": "https://inbox.example.com/oauth/jwks.json",
            },
        ),
    },
}

LIVE: dict[str, Any] = {
    "operationId": "live",
    "tags": ["Operation"],
    "summary": "Does the process answer?",
    "description": "For whoever restarts it.",
    "security": [],
    "responses": {"200": _json("It does.", _object(status={"const": "live"}), {"status": "live"})},
}

READY: dict[str, Any] = {
    "operationId": "ready",
    "tags": ["Operation"],
    "summary": "May traffic come?",
    "description": "`maintenance_lag_seconds`: for how long the oldest timer has been due.",
    "security": [],
    "responses": {
        "200": _json(
            "It may.",
            _object(status={"const": "ready"}, maintenance_lag_seconds={"type": "number"}),
            {"status": "ready", "maintenance_lag_seconds": 0.0},
        ),
        "503": _json(
            "Not now.",
            _object(status={"enum": ["draining", "no_database"]}),
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
                    "schema": _TEXT,
                    "examples": {"figures": {"value": 'claims_total{kind="first"} 1045.0\n'}},
                }
            },
        }
    },
}

OTHERS: dict[str, dict[str, Any]] = {
    "/api/v1/agents/{agent_id}/subscribe": {"get": SUBSCRIBE},
    "/oauth/token": {"post": TOKEN},
    "/oauth/jwks.json": {"get": KEYS},
    "/.well-known/oauth-authorization-server": {"get": METADATA},
    "/health/live": {"get": LIVE},
    "/health/ready": {"get": READY},
    "/metrics": {"get": METRICS},
}
