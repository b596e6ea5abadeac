"""The public keys and the metadata in the document."""

from __future__ import annotations

from typing import Any

from blueprints.openapi_plain import FAULTS, URL, json_answer, object_of

KEYS: dict[str, Any] = {
    "operationId": "key_set",
    "tags": ["OAuth"],
    "summary": "Read the public keys of access tokens",
    "description": "A JSON Web Key Set (RFC 7517).",
    "security": [],
    "responses": {
        "200": json_answer(
            "The keys.",
            object_of(keys={"type": "array", "items": {"type": "object"}}),
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
        **FAULTS,
    },
}

METADATA: dict[str, Any] = {
    "operationId": "metadata",
    "tags": ["OAuth"],
    "summary": "Read what the authorization server can do",
    "description": "RFC 8414: endpoints, grants, methods and algorithms, exactly those that work.",
    "security": [],
    "responses": {
        "200": json_answer(
            "The metadata.",
            object_of(issuer=URL, token_endpoint=URL, jwks_uri=URL),
            {
                "issuer": "https://inbox.example.com",
                "token_endpoint": "https://inbox.example.com/oauth/token",
                "jwks_uri": "https://inbox.example.com/oauth/jwks.json",
            },
        ),
    },
}
