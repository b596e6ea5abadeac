"""Redaction: values of a payload that a tenant keeps from its operators, by where they stand. Pure.

A rule is a JSON Pointer (RFC 6901) whose parts may be `*`, which means every member or element. What
is replaced is found in the text itself, so that all else stays as it was received.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from restante.errors import ValidationFailed

MARK = "\0"
"""Around a rule that stands where its value was; JSON text holds no NUL."""
MOST_RULES = 50
RULE_LENGTH = 200
ANY = "*"
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\0[^\0]*\0|[\[\]{},:]|[^\s\[\]{},:"\0]+|\0')
"""The tokens of JSON text, and what stands for a value that is kept back."""


def check_rules(rules: Sequence[str], *, pointer: str) -> tuple[str, ...]:
    """Sorted, each once. ValidationFailed for one that is no such pointer, or too many."""
    if len(rules) > MOST_RULES:
        raise ValidationFailed.at(pointer, f"at most {MOST_RULES} paths")
    for place, rule in enumerate(rules):
        if (
            not re.fullmatch(r"(/([^~/\0]|~[01])+)+", rule)
            or len(rule) > RULE_LENGTH
            or not rule.isprintable()
        ):
            raise ValidationFailed.at(
                f"{pointer}/{place}",
                f"must be a JSON Pointer of at most {RULE_LENGTH} characters, such as /customer/iban "
                "or /lines/*/price",
            )
    return tuple(sorted(set(rules)))


def parts_of(pointer: str) -> tuple[str, ...]:
    """A pointer's parts as they are in the document."""
    return tuple(p.replace("~1", "/").replace("~0", "~") for p in pointer.split("/")[1:])


def redact(payload: bytes, rules: Sequence[str]) -> bytes:
    """The payload with the rule where a value was that it keeps back. What is no JSON is kept back whole."""
    if not rules:
        return payload
    try:
        orjson.loads(payload)
        text = payload.decode()
    except (orjson.JSONDecodeError, UnicodeDecodeError):
        return f"{MARK}{rules[0]}{MARK}".encode()
    known = [(rule, parts_of(rule)) for rule in rules]
    kept: list[str] = []
    depth = 0
    for found, path in places(text):
        token = found[0]
        if depth:  # within a value that is kept back
            depth += (token in "[{") - (token in "]}")
            continue
        rule = None if path is None else next((r for r, parts in known if _is(path, parts)), None)
        if rule is None:
            kept.append(token)
            continue
        kept.append(f"{MARK}{rule}{MARK}")
        depth = int(token in "[{")
    return "".join(kept).encode()


def written(patch: Any, rules: Sequence[str]) -> str | None:
    """The first rule whose values a merge patch (RFC 7396), an object, may set, take out or replace.

    Be it at them, above them or within them; an object in the place of an array replaces all of it.
    """
    return next((rule for rule in rules if _writes(patch, parts_of(rule), within=False)), None)


def _writes(patch: Any, parts: Sequence[str], *, within: bool) -> bool:
    if not parts or type(patch) is not dict:
        return True
    name, rest = parts[0], parts[1:]
    if within and (name == ANY or name.isdecimal()):
        return True  # it may be an array in some payload
    named = patch.values() if name == ANY else [patch[name]] if name in patch else []
    return any(_writes(value, rest, within=True) for value in named)


def places(text: str) -> Iterator[tuple[re.Match[str], tuple[str, ...] | None]]:
    """Each token of JSON text, with the path of the value where it begins one; else None."""
    stack: list[tuple[str, str | int]] = []
    is_name = False
    for found in TOKEN.finditer(text):
        token = found[0]
        if token in "]}":
            if stack:
                stack.pop()
            yield found, None
        elif token in (",", ":"):
            if stack and token == ",":
                kind, at = stack[-1]
                stack[-1] = (kind, at + 1 if isinstance(at, int) else at)
            is_name = token == "," and bool(stack) and stack[-1][0] == "{"
            yield found, None
        elif is_name and stack:
            stack[-1] = ("{", _name(token))
            yield found, None
        else:
            yield found, tuple(str(at) for _, at in stack)
            if token in "[{":
                stack.append((token, 0 if token == "[" else ""))
        is_name = is_name if token in (",", ":") else token == "{"


def _name(token: str) -> str:
    try:
        return str(json.loads(token))
    except ValueError:
        return token


def _is(path: tuple[str, ...], parts: tuple[str, ...]) -> bool:
    return len(path) == len(parts) and all(b in (ANY, a) for a, b in zip(path, parts, strict=True))
