"""What is written again and again in descriptions that are made by hand."""

from __future__ import annotations

from typing import Any

from blueprints.openapi_answers import headers

TEXT = {"type": "string"}
URL = {"type": "string", "format": "uri"}
SECONDS = {"type": "integer"}


def json_answer(
    description: str, schema: dict[str, Any], example: Any, *names: str, **more: Any
) -> dict[str, Any]:
    """An answer in JSON with these header fields besides those of every answer; `more` examples by name."""
    shown = {name: {"value": value} for name, value in {"answer": example, **more}.items()}
    return {
        "description": description,
        "headers": headers(*names),
        "content": {"application/json": {"schema": schema, "examples": shown}},
    }


def object_of(**properties: Any) -> dict[str, Any]:
    """A schema with these members, all required; `optional` names a dict of others."""
    others = properties.pop("optional", {})
    return {
        "type": "object",
        "required": list(properties),
        "properties": {**properties, **others},
    }


def oauth_error(
    description: str, error: str, *names: str, also: tuple[str, ...] = ()
) -> dict[str, Any]:
    """A refusal as RFC 6749, section 5.2, writes it; `also`: others of the same status."""
    schema = object_of(error=TEXT, optional={"error_description": TEXT})
    others = {name: {"error": name} for name in also}
    return json_answer(description, schema, {"error": error}, *names, **others)


FAULTS = {
    "500": oauth_error("Something went wrong.", "server_error"),
    "503": oauth_error("The database is busy.", "temporarily_unavailable", "Retry-After"),
}
