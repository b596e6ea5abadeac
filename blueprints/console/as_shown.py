"""A form of several settings: only what was changed in it is written, and nothing over what another has set.

The form carries a mark of each setting as it showed it (`was-max_pending`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

PREFIX = "was-"


@dataclass(frozen=True, slots=True)
class Sent:
    """{setting: what is wanted} of those that this form changes; of these `crossed`: another did too."""

    changed: Mapping[str, Any]
    crossed: frozenset[str]


def marks(shown: Mapping[str, Any]) -> dict[str, str]:
    """{field: its mark}, for a form that shows these; values are as JSON has them."""
    return {f"{PREFIX}{name}": _mark(value) for name, value in shown.items()}


def marks_in(form: Mapping[str, str]) -> dict[str, str]:
    """Those that a form came with, for the same form once more."""
    return {name: text for name, text in form.items() if name.startswith(PREFIX)}


def sent(form: Mapping[str, str], wanted: Mapping[str, Any], now: Mapping[str, Any]) -> Sent:
    """What a form changes of what is set `now`. Where it carries no mark, it showed something else."""
    changed = {
        name: value
        for name, value in wanted.items()
        if value != now[name] and _mark(value) != form.get(PREFIX + name)
    }
    crossed = {name for name in changed if _mark(now[name]) != form.get(PREFIX + name)}
    return Sent(changed, frozenset(crossed))


def faults(crossed: Iterable[str], told: Mapping[str, str]) -> dict[str, str]:
    """{setting: what is said beside it} of those that another did too; `told`: what is set now, in words."""
    return {name: f"Another has set this meanwhile: {told[name]}" for name in crossed}


def _mark(value: Any) -> str:
    return hashlib.sha256(orjson.dumps(value)).hexdigest()[:16]
