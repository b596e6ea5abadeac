"""The OpenAPI 3.1 document, made from the endpoints: /api/v1/openapi.json."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

from flask import Blueprint, Flask, Response, current_app
from orjson import OPT_INDENT_2, dumps
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from blueprints.access import public, states
from blueprints.cloud_events import BATCH, TOLD, CloudEvent, CloudEvents
from blueprints.endpoint import Endpoint, endpoint_of
from blueprints.examples import CALLBACK_ID, KEY_ID
from blueprints.openapi_answers import (
    COMPONENT_HEADERS,
    answers,
    component_examples,
)
from blueprints.openapi_others import OTHERS
from blueprints.openapi_scopes import SCOPES
from blueprints.shapes import Problem
from extensions import house
from restante import __version__
from restante.bridges.cloud_events import MEDIA_TYPE as ONE
from restante.identity.signatures.profile import accept_signature

blueprint = Blueprint("openapi", __name__)
REFERENCE = "#/components/schemas/{model}"
_KEPT = "restante_openapi"
_CONVERTED = re.compile(r"<(?:\w+:)?(\w+)>")

ABOUT = (
    "Restante holds mail for agents that are not always there. An event is a row in its recipient's inbox; "
    "a push "
    "only says that something is there. The event is claimed under a lease, worked on, and settled.\n\n"
    "Get a token at `/oauth/token`, subscribe, claim, settle. Bodies are JSON objects; unknown members and "
    "numbers "
    "out of range are refused, never bent to fit. Members may be added to answers: ignore what you do not "
    "know.\n\n"
    "A request may be signed besides (RFC 9421); in a tenant that wants it, agents have to sign what changes "
    f"something: `{accept_signature(has_query=True)}` with `keyid` and `nonce` (16 to 128 characters, new "
    "for each request), `@query` where there is one, `expires` at most 300 s after `created`, one signature "
    "a request, and `Content-Digest` (RFC 9530) always, that of no content too. A signature that is there is "
    "always verified. "
    "A retry is signed anew."
)


@blueprint.get("/api/v1/openapi.json")
@states(public("documentation"))
def openapi() -> Response:
    """The document."""
    answer = Response(
        dumps(document(current_app), option=OPT_INDENT_2), mimetype="application/json"
    )
    answer.headers["Cache-Control"] = "public, max-age=300"
    return answer


def document(app: Flask) -> dict[str, Any]:
    """That of an application; made once."""
    if _KEPT not in app.extensions:
        app.extensions[_KEPT] = _build(app)
    made: dict[str, Any] = app.extensions[_KEPT]
    return made


def endpoints(app: Flask) -> list[tuple[str, str, Endpoint]]:
    """(path as OpenAPI writes it, the operation's name, endpoint), in the order of their routes."""
    found = []
    for rule in app.url_map.iter_rules():
        endpoint = endpoint_of(app.view_functions[rule.endpoint])
        if endpoint is not None:
            path = _CONVERTED.sub(r"{\1}", rule.rule)
            found.append((path, rule.endpoint.partition(".")[2], endpoint))
    return found


def _build(app: Flask) -> dict[str, Any]:
    listed = endpoints(app)
    models: dict[type[BaseModel], None] = {Problem: None}
    for _, _, endpoint in listed:
        models.update(
            {
                model: None
                for model in (
                    endpoint.answer,
                    endpoint.body,
                    *(one.documented for one in endpoint.also.values()),
                    *((CloudEvent, CloudEvents) if endpoint.cloud_events else ()),
                )
                if model is not None
            }
        )
    references, schemas = models_json_schema(
        [(model, "validation") for model in models], ref_template=REFERENCE
    )
    by_model: dict[Any, Any] = {model: reference for (model, _), reference in references.items()}
    paths: dict[str, dict[str, Any]] = defaultdict(dict)
    for path, name, endpoint in listed:
        paths[path][endpoint.method.lower()] = _operation(path, name, endpoint, by_model)
    for path, operations in OTHERS.items():
        paths[path].update(operations)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Restante",
            "version": __version__,
            "summary": "A durable inbox for agents that are not always there",
            "description": ABOUT,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": house().settings.public_url}],
        "tags": [
            {"name": name}
            for name in sorted({t for o in paths.values() for m in o.values() for t in m["tags"]})
        ],
        "paths": dict(paths),
        "components": {
            "schemas": schemas["$defs"],
            "headers": COMPONENT_HEADERS,
            "examples": component_examples(),
            "securitySchemes": {
                "token": {
                    "type": "oauth2",
                    "description": "A bearer token of at most ten minutes (RFC 9068).",
                    "flows": {"clientCredentials": {"tokenUrl": "/oauth/token", "scopes": SCOPES}},
                },
                "client": {
                    "type": "http",
                    "scheme": "basic",
                    "description": "client_id and client_secret, below /oauth only.",
                },
            },
        },
    }


def _operation(
    path: str, name: str, endpoint: Endpoint, by_model: dict[Any, Any]
) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": name,
        "tags": [endpoint.tag],
        "summary": endpoint.summary,
        "description": endpoint.description,
        "security": [{"token": [scope]} for scope in endpoint.access.scope_names()],
        "parameters": [
            *_path_parameters(path),
            *_query_parameters(endpoint.query),
            *_header_parameters(endpoint),
        ],
    }
    if endpoint.body is not None:
        operation["requestBody"] = {
            "required": not endpoint.body_optional,
            "content": {
                "application/json": {
                    "schema": by_model[endpoint.body],
                    "examples": _examples(endpoint.examples),
                },
                **{
                    media: {
                        "schema": by_model[one.documented],
                        "examples": _examples(one.examples),
                    }
                    for media, one in endpoint.also.items()
                },
            },
        }
    operation["responses"] = answers(
        endpoint,
        {"schema": by_model[endpoint.answer], "examples": _examples(endpoint.answer_examples)},
    )
    if endpoint.cloud_events:
        operation["responses"]["200"]["content"] |= (
            {
                BATCH: {
                    "schema": by_model[CloudEvents],
                    "examples": _examples({"cloud events": [TOLD]}),
                }
            }
            if "events" in endpoint.answer.model_fields
            else {
                ONE: {"schema": by_model[CloudEvent], "examples": _examples({"cloud event": TOLD})}
            }
        )
    return operation


def _examples(values: dict[str, Any]) -> dict[str, Any]:
    return {
        name.replace(" ", "_"): {"summary": name, "value": value} for name, value in values.items()
    }


_NAMED = {
    "agent_id": ("The agent whose inbox it is.", "agt_0198c5a1f3de7c51a0b2c4d6e8f01234"),
    "key_id": ("The signing key.", KEY_ID),
    "event_id": ("The event.", "evt_0198c5b27c3d7e408f1a2b3c4d5e6f70"),
    "project": ("The project.", "main"),
    "key": ("The key, percent-encoded; a slash may stand as it is.", "repositories/acme"),
    "slug": ("The project.", "main"),
    "credential_id": ("The credential.", KEY_ID),
    "room_id": ("The room.", "room_0198c5a1f3f17e3692a4b6c8dae1f357"),
    "assignment_id": ("The assignment.", "asg_0198c5a1f3f37c5184a2b6c8dae1f358"),
    "callback_id": ("The callback.", CALLBACK_ID),
    "job_id": ("The job.", "job_0198c5b27c3d7e408f1a2b3c4d5e6f71"),
    "service_id": ("The service.", "svc_0198c5a1f3e47a1392a4b6c8dae1f356"),
}


def _path_parameters(path: str) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "description": description,
            "schema": {"type": "string"},
            "example": example,
        }
        for name, (description, example) in _NAMED.items()
        if f"{{{name}}}" in path
    ]


def _query_parameters(query: type[BaseModel]) -> list[dict[str, Any]]:
    parameters = []
    for name, schema in (
        query.model_json_schema()["properties"].items() if query.model_fields else ()
    ):
        # a parameter cannot be null: it is left out
        choices = [choice for choice in schema.pop("anyOf", ()) if choice != {"type": "null"}]
        schema.pop("title", None)
        if schema.get("default", ...) is None:
            del schema["default"]
        merged = {**(choices[0] if choices else {}), **schema}
        description = merged.pop("description", None)
        parameter = {"name": name, "in": "query", "required": False, "schema": merged}
        parameters.append(parameter | ({"description": description} if description else {}))
    return parameters


def _header_parameters(endpoint: Endpoint) -> list[dict[str, Any]]:
    named: list[tuple[str, str, int | None]] = []
    if endpoint.creates:
        named.append(
            ("Idempotency-Key", "Repeating the request with the same key does it once.", 128)
        )
    if endpoint.traced:
        named.append(("traceparent", "W3C Trace Context; kept with the events.", None))
    if endpoint.revalidates:
        named.append(("If-None-Match", "The ETag of what is known.", None))
    if endpoint.conditional:
        named.append(
            ("If-Match", "Only if it is at this version, in quotes; *: if it is there.", None)
        )
        named.append(("If-None-Match", "*: only if it is not there.", None))
    return [
        {
            "name": name,
            "in": "header",
            "required": False,
            "description": description,
            "schema": {"type": "string"}
            if most is None
            else {
                "type": "string",
                "minLength": 1,
                "maxLength": most,
                "pattern": r"^[!-~]([ -~]*[!-~])?$",
            },
        }
        for name, description, most in named
    ]
