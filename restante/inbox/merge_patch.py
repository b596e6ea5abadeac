"""JSON Merge Patch (RFC 7396) on texts: numbers that are not named keep every digit. Pure."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import orjson


def merged(target: bytes | None, patch: bytes) -> bytes:
    """The text of `target` with `patch` merged into it; None: nothing is there yet."""
    return orjson.dumps(_merge(None if target is None else _read(target), _read(patch)))


def named_twice(patch: bytes) -> str | None:
    """A member that an object of the patch has twice, so that nobody could say which counts; else None."""
    twice: list[str] = []

    def note(members: list[tuple[str, Any]]) -> None:
        names = Counter(name for name, _ in members)
        twice.extend(name for name, times in names.items() if times > 1)

    json.loads(patch, object_pairs_hook=note)
    return twice[0] if twice else None


def _merge(target: Any, patch: Any) -> Any:
    if type(patch) is not dict:
        return patch
    result = dict(target) if type(target) is dict else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = _merge(result.get(name), value)
    return result


def _read(text: bytes) -> Any:
    # a number is kept as its digits, which no binary number holds in every case
    return json.loads(text, parse_int=_digits, parse_float=_digits)


def _digits(text: str) -> orjson.Fragment:
    return orjson.Fragment(text)
