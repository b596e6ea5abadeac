"""The OAuth endpoints in the document: forms, and errors as RFC 6749 writes them."""

from __future__ import annotations

from typing import Any

from blueprints import examples
from blueprints.openapi_discovery import KEYS, METADATA
from blueprints.openapi_plain import FAULTS, SECONDS, TEXT, URL, json_answer, oauth_error, object_of
from restante.identity.assertions import TYPE

# what an assertion in the form or a public client's name does, no scheme of OpenAPI says
_ANY_CLIENT: list[dict[str, list[str]]] = [{"client": []}, {}]
_CLIENT = {
    "client_id": {
        "type": "string",
        "description": "Of a client that proves nothing: an agent's id, or `restante-agent`.",
    },
    "client_assertion_type": {
        "const": TYPE,
        "description": "With `client_assertion`.",
    },
    "client_assertion": {
        "type": "string",
        "description": "`private_key_jwt` (RFC 7523): a JWT by a key registered for the client, EdDSA, "
        "ES256 or PS512. `iss` and `sub` are the client_id, `aud` the issuer or the token endpoint; `jti` "
        "is good once; it lives 300 s at most.",
    },
}
_DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_REFRESH = "rstr_W1hcUq0…"
_CODE = "rstd_3qTz8yw…"


def _form(schema: dict[str, Any], **shown: dict[str, str]) -> dict[str, Any]:
    return {
        "required": True,
        "content": {
            "application/x-www-form-urlencoded": {
                "schema": schema,
                "examples": {
                    name: {"summary": name.replace("_", " "), "value": value}
                    for name, value in shown.items()
                },
            }
        },
    }


def _errors(refused: dict[str, Any]) -> dict[str, Any]:
    return {
        "400": refused,
        "401": oauth_error(
            "The client is unknown, or its proof does not hold: alike.",
            "invalid_client",
            "WWW-Authenticate",
        ),
        "405": oauth_error("This address takes POST.", "invalid_request", "Allow"),
        "413": oauth_error("The body is too large.", "invalid_request"),
        "429": oauth_error(
            "20 failed authentications of the client or address within a minute, or far too many grants that "
            "are worth nothing.",
            "temporarily_unavailable",
            "Retry-After",
        ),
        **FAULTS,
    }


_MALFORMED = oauth_error("The form is malformed.", "invalid_request")

TOKEN: dict[str, Any] = {
    "operationId": "token",
    "tags": ["OAuth"],
    "summary": "Get an access token",
    "description": "`client_credentials` (RFC 6749, section 4.4) for a client that proves itself by HTTP "
    "Basic or an assertion: without `scope` an agent gets `read` and `claim` for its projects and a service "
    "all that it has.\n\n"
    "`refresh_token`: each is good once and its answer brings the next. For 10 s the newest spent one is "
    "answered with the same child, as long as nobody has used that; a spent token at any other time ends "
    "the login with all its tokens. `scope` may be less than at first, never more.\n\n"
    "Device code (RFC 8628): ask every `interval` seconds until an operator has decided. These two need no "
    "proof, only the `client_id` that the login began with.",
    "security": _ANY_CLIENT,
    "requestBody": _form(
        object_of(
            grant_type={"enum": ["client_credentials", "refresh_token", _DEVICE_GRANT]},
            optional={
                "scope": {"type": "string", "description": "Separated by single spaces."},
                "refresh_token": TEXT,
                "device_code": TEXT,
                **_CLIENT,
            },
        ),
        plain={"grant_type": "client_credentials"},
        scoped={
            "grant_type": "client_credentials",
            "scope": "agent:main:read agent:main:claim agent:main:publish",
        },
        with_an_assertion={
            "grant_type": "client_credentials",
            "client_assertion_type": TYPE,
            "client_assertion": "eyJhbGciOiJFZERTQSJ9.…",
        },
        refresh={
            "grant_type": "refresh_token",
            "refresh_token": _REFRESH,
            "client_id": examples.AGENT_ID,
        },
        device={
            "grant_type": _DEVICE_GRANT,
            "device_code": _CODE,
            "client_id": examples.AGENT_ID,
        },
    ),
    "responses": {
        "200": json_answer(
            "The token; with a `refresh_token` where it belongs to a login.",
            object_of(
                access_token=TEXT,
                token_type=TEXT,
                expires_in=SECONDS,
                scope=TEXT,
                optional={"refresh_token": TEXT},
            ),
            {
                "access_token": "eyJ…",
                "token_type": "Bearer",
                "expires_in": 600,
                "scope": "agent:main:claim agent:main:read",
            },
            login={
                "access_token": "eyJ…",
                "token_type": "Bearer",
                "expires_in": 600,
                "scope": "agent:main:claim agent:main:read",
                "refresh_token": _REFRESH,
            },
        ),
        **_errors(
            oauth_error(
                "The request is refused, or nobody has decided yet.",
                "invalid_scope",
                also=(
                    *("invalid_request", "invalid_grant", "unsupported_grant_type"),
                    *("authorization_pending", "slow_down", "access_denied", "expired_token"),
                ),
            )
        ),
    },
}

DEVICE: dict[str, Any] = {
    "operationId": "device_authorization",
    "tags": ["OAuth"],
    "summary": "Begin the login of a device",
    "description": "RFC 8628. Show the user code and the address; an operator opens it, signs in and "
    "approves what he sees. With `restante-agent` for a client_id he picks the agent. `host` is shown to "
    "him.",
    "security": _ANY_CLIENT,
    "requestBody": _form(
        object_of(
            client_id=_CLIENT["client_id"],
            optional={
                "scope": {"type": "string", "description": "Separated by single spaces."},
                "host": {"type": "string", "description": "What the operator knows the device by."},
            },
        ),
        an_agent={
            "client_id": examples.AGENT_ID,
            "scope": "agent:main:read agent:main:claim",
            "host": "build-7",
        },
        any_agent={"client_id": "restante-agent"},
    ),
    "responses": {
        "200": json_answer(
            "The codes.",
            object_of(
                device_code=TEXT,
                user_code=TEXT,
                verification_uri=URL,
                verification_uri_complete=URL,
                expires_in=SECONDS,
                interval=SECONDS,
            ),
            {
                "device_code": _CODE,
                "user_code": "BCDFG-HJKLM",
                "verification_uri": "https://inbox.example.com/device",
                "verification_uri_complete": "https://inbox.example.com/device?user_code=BCDFG-HJKLM",
                "expires_in": 600,
                "interval": 5,
            },
        ),
        **_errors(
            oauth_error("The request is refused.", "invalid_scope", also=("invalid_request",))
        ),
    },
}

REVOKE: dict[str, Any] = {
    "operationId": "revocation",
    "tags": ["OAuth"],
    "summary": "Give a token back",
    "description": "RFC 7009. An access token ends alone; a refresh token ends its login with every token "
    "got by it. A token that is unknown, over or another client's answers 200 too, and nothing happens.",
    "security": _ANY_CLIENT,
    "requestBody": _form(
        object_of(token=TEXT, optional={"token_type_hint": TEXT, **_CLIENT}),
        refresh_token={
            "token": _REFRESH,
            "token_type_hint": "refresh_token",
            "client_id": examples.AGENT_ID,
        },
        access_token={"token": "eyJ…"},
    ),
    "responses": {
        "200": json_answer("It is none any more.", object_of(), {}),
        **_errors(_MALFORMED),
    },
}

INTROSPECT: dict[str, Any] = {
    "operationId": "introspection",
    "tags": ["OAuth"],
    "summary": "Ask what a token is good for",
    "description": "RFC 7662, for a client that proves itself and for its own tokens: `scope` is what its "
    "grants give at this moment. Every other token is not active, and nothing more is said of it.",
    "security": _ANY_CLIENT,
    "requestBody": _form(
        object_of(token=TEXT, optional={"token_type_hint": TEXT, **_CLIENT}),
        any_token={"token": "eyJ…"},
    ),
    "responses": {
        "200": json_answer(
            "What it is good for.",
            object_of(
                active={"type": "boolean"},
                optional={
                    **dict.fromkeys(("scope", "client_id", "sub", "iss", "aud", "jti"), TEXT),
                    "token_type": TEXT,
                    "iat": SECONDS,
                    "exp": SECONDS,
                },
            ),
            {"active": False},
            own={
                "active": True,
                "scope": "agent:main:claim agent:main:read",
                "client_id": examples.AGENT_ID,
                "sub": examples.AGENT_ID,
                "iss": "https://inbox.example.com",
                "aud": "https://inbox.example.com",
                "jti": "0198c5a1f3de7c51a0b2c4d6e8f01234",
                "token_type": "Bearer",
                "iat": 1796027876,
                "exp": 1796028476,
            },
        ),
        **_errors(_MALFORMED),
    },
}

OAUTH: dict[str, dict[str, Any]] = {
    "/oauth/token": {"post": TOKEN},
    "/oauth/device_authorization": {"post": DEVICE},
    "/oauth/revoke": {"post": REVOKE},
    "/oauth/introspect": {"post": INTROSPECT},
    "/oauth/jwks.json": {"get": KEYS},
    "/.well-known/oauth-authorization-server": {"get": METADATA},
}
