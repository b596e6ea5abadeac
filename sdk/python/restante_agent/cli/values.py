"""Reading JSON and instants from the command line; click calls these as types."""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from restante_agent import instants, jsontext


def json_object(value: str) -> dict[str, Any]:
    """A JSON object: the text itself, ``-`` for stdin, or ``@file``."""
    try:
        members = _json(value)
    except (OSError, ValueError, RecursionError) as error:
        raise click.BadParameter(f'{error}; give an object like \'{{"type": "note"}}\'') from error
    if not isinstance(members, dict):
        raise click.BadParameter(f"a JSON object is needed, not {type(members).__name__}")
    return members


def json_value(value: str) -> Any:
    """Any JSON: the text itself, ``-`` for stdin, or ``@file``."""
    try:
        return _json(value)
    except (OSError, ValueError, RecursionError) as error:
        raise click.BadParameter(f"{error}; a text needs its quotes: '\"text\"'") from error


def instant(value: str) -> datetime:
    """An RFC 3339 instant with an offset."""
    try:
        return instants.parse(value)
    except ValueError as error:
        raise click.BadParameter(f"{error}; write 2026-01-31T12:00:00Z") from error


def _json(value: str) -> Any:
    """What can be sent as well: Python reads NaN, which is no JSON."""
    read = jsontext.loads(_text(value))
    jsontext.dumps(read)
    return read


def _text(value: str) -> str | bytes:
    if value == "-":
        return sys.stdin.buffer.read()
    if value.startswith("@"):
        return Path(value[1:]).read_bytes()
    return value
