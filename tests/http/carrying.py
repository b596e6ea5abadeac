"""The agent's side as it is, its calls carried to the application in this process; and its processes."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from restante_agent.errors import RestanteError
from restante_agent.memory_view import MemoryView
from restante_agent.problem import error_of
from restante_agent.runtime.record import Position
from restante_agent.wire.call import Call
from restante_agent.wire.step import Answer
from tests.http.world import Caller


@dataclass
class Process:
    """One of the agent's, with what it keeps."""

    view: MemoryView = field(default_factory=MemoryView)
    position: Position | None = None
    # a sync that is under way, and what it asks next
    syncing: Generator[Call[Any], Any, Any] | None = None
    asks: Call[Any] | None = None


def carry(call: Call[Any], caller: Caller, *, limit: int | None = None) -> Any:
    """A call's answer, or its refusal raised. `limit`: that of pages of state and memory."""
    request = call.request
    query = dict(request.query)
    if limit is not None and request.path.endswith(("/state", "/memory")):
        query["limit"] = str(limit)
    found = caller.call(
        request.method,
        request.path,
        query_string=query,
        json=request.body,
        headers=dict(request.headers),
    )
    headers = {name.lower(): value for name, value in found.headers.items()}
    if found.status_code >= 400:
        raise error_of(found.status_code, headers, found.data)
    return call.read(Answer(status=found.status_code, headers=headers, content=found.data))


def play(
    script: Generator[Call[Any], Any, Any], caller: Caller, *, limit: int | None = None
) -> Any:
    """Carry the calls of a script; its value."""
    try:
        call = next(script)
        while True:
            try:
                answer = carry(call, caller, limit=limit)
            except RestanteError as error:
                call = script.throw(error)
            else:
                call = script.send(answer)
    except StopIteration as end:
        return end.value


def copy(source: Path, target: Path) -> None:
    """One SQLite file as it is now, over another."""
    with sqlite3.connect(source) as one, sqlite3.connect(target) as other:
        one.backup(other)
    one.close()
    other.close()
