"""What a person sees. Text from events is made harmless first: a payload may hold escape codes."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from restante_agent import jsontext

PAYLOAD_WIDTH = 60


def printable(text: object) -> str:
    """Control characters (C0, C1, escapes) and direction marks as visible escapes."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


def write_json(value: Any) -> None:
    """Exactly one JSON value on stdout."""
    sys.stdout.write(jsontext.dumps(value).decode() + "\n")
    sys.stdout.flush()


def say(text: str) -> None:
    print(printable(text))


def table(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """A plain table as wide as the terminal; when piped, as wide as it needs to be."""
    columns = list(columns)
    grid = Table(box=None, pad_edge=False, header_style="bold", show_header=any(columns))
    for column in columns:
        grid.add_column(column, overflow="fold")
    for row in rows:
        grid.add_row(*(Text(printable("" if cell is None else cell)) for cell in row))
    console = Console()
    if not console.is_terminal:
        console = Console(width=1000)
    console.print(grid)


def events(found: Iterable[Mapping[str, Any]], *, claimed: bool = False) -> None:
    columns = ["seq", "event", "type", "project", "status", "try", "payload"]
    if claimed:
        columns[5:6] = ["generation", "lease s"]
    table(columns, (_row(event, claimed=claimed) for event in found))


def brief(value: Any) -> str:
    """A payload in one short line."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text if len(text) <= PAYLOAD_WIDTH else text[: PAYLOAD_WIDTH - 1] + "…"


def _row(event: Mapping[str, Any], *, claimed: bool) -> list[object]:
    row = [event.get(name) for name in ("sequence_number", "event_id", "type", "project", "status")]
    if claimed:
        left = int(event.get("lease_remaining_ms") or 0) // 1000
        row += [event.get("claim_generation"), left]
    else:
        row.append(f"{event.get('attempts', 0)}/{event.get('max_attempts') or '-'}")
    return [*row, brief(event.get("payload"))]
