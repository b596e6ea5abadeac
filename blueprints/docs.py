"""/api/docs: the OpenAPI document as a page to read. It loads nothing but its own style sheet."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, current_app, render_template

from blueprints.access import public, states
from blueprints.openapi import document
from blueprints.openapi_scopes import SCOPES
from blueprints.problem_pages import page

blueprint = Blueprint("docs", __name__)

READ_FIRST = ("OAuth", "Publishing", "Inbox", "Claims")
"""The tags in the order in which a newcomer needs them; what is not named comes after them."""


@blueprint.get("/api/docs")
@states(public("documentation"))
def docs() -> Response:
    """Every operation, by tag."""
    made = document(current_app)
    tags: dict[str, list[dict[str, Any]]] = {}
    for path, operations in made["paths"].items():
        for method, operation in operations.items():
            told = {"method": method.upper(), "path": path, **operation}
            tags.setdefault(operation["tags"][0], []).append(told)
    return page(
        render_template(
            "docs/docs.html",
            info=made["info"],
            tags=dict(sorted(tags.items(), key=lambda item: place(item[0]))),
            scopes=SCOPES,
            rows=lambda schema: rows(schema, made["components"]["schemas"]),
        )
    )


def place(tag: str) -> tuple[int, str]:
    """Where a tag stands on the page."""
    return READ_FIRST.index(tag) if tag in READ_FIRST else len(READ_FIRST), tag


def rows(schema: dict[str, Any], schemas: dict[str, Any]) -> list[dict[str, Any]]:
    """The members of a body, one row each; those of a body with alternatives under a heading each."""
    schema = _resolved(schema, schemas)
    if "anyOf" in schema and "properties" not in schema:
        found = []
        for choice in schema["anyOf"]:
            found += [
                {"heading": _resolved(choice, schemas).get("description", "")},
                *rows(choice, schemas),
            ]
        return found
    required = schema.get("required", ())
    return [
        {
            "name": name,
            "required": name in required,
            "kind": kind_of(member, schemas),
            "limits": limits_of(member),
            "text": member.get("description") or _choice(member).get("description", ""),
        }
        for name, member in schema.get("properties", {}).items()
    ]


def kind_of(member: dict[str, Any], schemas: dict[str, Any]) -> str:
    """The type of a member, in words."""
    member = _choice(member)
    if "$ref" in member:
        target = _resolved(member, schemas)
        names = ", ".join(target.get("properties", {}))
        return f"object {{{names}}}" if len(names) < 60 else "object"
    if "enum" in member or "const" in member:
        return " | ".join(f'"{value}"' for value in member.get("enum", [member.get("const")]))
    if member.get("type") == "array":
        return f"array of {kind_of(member.get('items', {}), schemas)}"
    return str(member.get("format") or member.get("type", "any"))


def limits_of(member: dict[str, Any]) -> str:
    """Default and bounds, in words."""
    choice = _choice(member)
    told = []
    if member.get("default") is not None:
        told.append(f"default {member['default']}")
    for word, low, high in (
        ("", "minimum", "maximum"),
        ("length ", "minLength", "maxLength"),
        ("items ", "minItems", "maxItems"),
    ):
        if low in choice or high in choice:
            told.append(f"{word}{choice.get(low, '')}…{choice.get(high, '')}")
    return ", ".join(told)


def _choice(member: dict[str, Any]) -> dict[str, Any]:
    """The one that is not null."""
    choices = [choice for choice in member.get("anyOf", ()) if choice != {"type": "null"}]
    return choices[0] if choices else member


def _resolved(schema: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = (
        schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    )
    return found
