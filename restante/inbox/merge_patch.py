"""JSON Merge Patch (RFC 7396) on texts: numbers that are not named keep every digit. Pure."""

from __future__ import annotations

import json
from typing import Any

import orjson


def merged(target: bytes | None, patch: bytes) -> bytes:
    """The text of `target` with `patch` merged into it; None: nothing is there yet."""
    return orjson.dumps(_merge(None if target is None else _read(target), _read(patch)))


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
