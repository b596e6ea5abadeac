"""Bodies spoilt at one place: every member that a document's schema has, wherever it stands."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Place = tuple[str | int, ...]
Schema = Mapping[str, Any]


def places(schema: Schema, document: Schema, *, depth: int = 6) -> Iterator[Place]:
    """The path of every member and item that the schema has, in any of its variants."""
    if depth == 0:
        return
    if reference := schema.get("$ref"):
        target: Any = document
        for step in reference.removeprefix("#/").split("/"):
            target = target[step]
        yield from places(target, document, depth=depth - 1)
    for word in ("oneOf", "anyOf", "allOf"):
        for variant in schema.get(word, ()):
            yield from places(variant, document, depth=depth)
    for name, member in schema.get("properties", {}).items():
        yield (name,)
        yield from ((name, *rest) for rest in places(member, document, depth=depth - 1))
    if isinstance(items := schema.get("items"), Mapping):
        yield (0,)
        yield from ((0, *rest) for rest in places(items, document, depth=depth - 1))


def places_of(value: Any) -> Iterator[Place]:
    """The path of everything that a body has, itself first."""
    yield ()
    inner: Sequence[tuple[str | int, Any]] = ()
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    for step, member in inner:
        yield from ((step, *rest) for rest in places_of(member))


def spoilt(body: Any, place: Place, value: bytes) -> bytes:
    """The body as JSON text with these bytes in that place; what leads there is made."""
    if not place:
        return value
    step, *rest = place
    if isinstance(step, int):
        items = body if isinstance(body, list) and body else [{}]
        parts = [spoilt(items[0], tuple(rest), value), *(_text(item) for item in items[1:])]
        return b"[" + b",".join(parts) + b"]"
    members = body if isinstance(body, dict) else {}
    texts = {name: _text(member) for name, member in members.items() if name != step}
    texts[step] = spoilt(members.get(step), tuple(rest), value)
    return b"{" + b",".join(_text(name) + b":" + text for name, text in texts.items()) + b"}"


def twice(body: dict[str, Any], name: str) -> bytes:
    """The body with a member named twice."""
    text = _text(body)
    comma = b"," if body else b""
    return text[:-1] + comma + _text(name) + b":" + _text(body.get(name)) + b"}"


def _text(value: Any) -> bytes:
    return json.dumps(value).encode()
