"""What an operation may be answered with: its own answer, and every problem there can be."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Set as AbstractSet
from typing import Any

from blueprints.endpoint import Endpoint
from blueprints.problems import (
    KINDS,
    MEDIA_TYPE,
    BodyTooLarge,
    InternalError,
    Kind,
    MalformedJson,
    UnsupportedMediaType,
    problem_example,
)
from restante import errors
from restante.identity.signatures import refusals

PROBLEM = {"$ref": "#/components/schemas/Problem"}
ALWAYS = (
    errors.AmbiguousCredentials,
    # of the nineteen problems of signed requests those that a caller meets first; /problems has all
    refusals.DigestMismatch,
    errors.Unauthenticated,
    refusals.SignatureMissing,
    refusals.SignatureUnknownKey,
    refusals.SignatureInvalid,
    errors.InsufficientScope,
    errors.NotFound,
    errors.ValidationFailed,
    errors.RateLimited,
    InternalError,
    errors.Overloaded,
    errors.OutcomeUnknown,
)
WITH_BODY = (MalformedJson, BodyTooLarge, UnsupportedMediaType)

COMPONENT_HEADERS: dict[str, Any] = {
    "X-Request-Id": {
        "description": "That of the request, or one made here; it finds the request in the log.",
        "schema": {"type": "string"},
    },
    "Restante-Version": {"description": "The version of the server.", "schema": {"type": "string"}},
    "ETag": {
        "description": "A validator: of a page a weak one, of a key of memory its version in quotes.",
        "schema": {"type": "string", "pattern": '^(W/)?"'},
    },
    "Retry-After": {
        "description": "How long to wait, in seconds.",
        "schema": {"type": "integer", "minimum": 0},
    },
    "WWW-Authenticate": {
        "description": "How to authenticate (RFC 6750).",
        "schema": {"type": "string"},
    },
    "Accept-Signature": {
        "description": "With a problem of the signature: what it has to cover (RFC 9421, section 5.1).",
        "schema": {"type": "string"},
    },
    "Idempotency-Replayed": {
        "description": "The answer is that of the first request with this key.",
        "schema": {"type": "string", "enum": ["true"]},
    },
    "Allow": {"description": "The methods that the address takes.", "schema": {"type": "string"}},
}


def answers(endpoint: Endpoint, content: dict[str, Any]) -> dict[str, Any]:
    """By status. `content`: schema and examples of the endpoint's own answer."""
    elsewhere = {example for _, example in endpoint.other_statuses.values()}
    found: dict[str, Any] = {
        str(endpoint.status): {
            "description": endpoint.answer.__doc__ or "",
            "headers": headers(
                *(["ETag"] if endpoint.revalidates or endpoint.conditional else []),
                *(["Idempotency-Replayed"] if endpoint.creates else []),
            ),
            "content": _media(content, content["examples"].keys() - elsewhere),
        }
    }
    for status, (description, example) in endpoint.other_statuses.items():
        found[str(status)] = {
            "description": description,
            "headers": headers(),
            "content": _media(content, {example}),
        }
    if endpoint.revalidates:
        found["304"] = {
            "description": "It is what is known.",
            "headers": headers("ETag"),
        }
    kinds: dict[int, list[Kind]] = defaultdict(list)
    for error in (*ALWAYS, *(WITH_BODY if endpoint.body is not None else ()), *endpoint.problems):
        if KINDS[error] not in kinds[KINDS[error].status]:
            kinds[KINDS[error].status].append(KINDS[error])
    for status in sorted(kinds):
        found[str(status)] = problems(kinds[status])
    return found


def _media(content: dict[str, Any], names: AbstractSet[str]) -> dict[str, Any]:
    shown = {name: example for name, example in content["examples"].items() if name in names}
    return {"application/json": {**content, "examples": shown}}


def problems(kinds: list[Kind]) -> dict[str, Any]:
    """An answer that is one of these problems."""
    told = {
        401: ["WWW-Authenticate", "Accept-Signature"],
        403: ["WWW-Authenticate"],
        429: ["Retry-After"],
        503: ["Retry-After"],
    }
    return {
        "description": "; ".join(f"[{kind.slug}]({kind.type}): {kind.title}" for kind in kinds),
        "headers": headers(*told.get(kinds[0].status, [])),
        "content": {
            MEDIA_TYPE: {
                "schema": PROBLEM,
                "examples": {
                    kind.slug: {"$ref": f"#/components/examples/{kind.slug}"} for kind in kinds
                },
            }
        },
    }


def headers(*names: str) -> dict[str, Any]:
    """Those of every answer, and those named."""
    return {
        name: {"$ref": f"#/components/headers/{name}"}
        for name in ("X-Request-Id", "Restante-Version", *names)
    }


def component_examples() -> dict[str, Any]:
    """An example of each kind of problem, by its slug."""
    return {
        kind.slug: {"summary": kind.title, "value": problem_example(kind)}
        for kind in KINDS.values()
    }
