"""The state, all of its pages, and what has changed since (contract 5.8, 5.9), as scripts."""

from __future__ import annotations

from dataclasses import replace

from restante_agent.errors import NotFound
from restante_agent.memory_errors import RevisionGone
from restante_agent.memory_view import MemoryView
from restante_agent.model.inbox import State
from restante_agent.model.memory import MemoryChanges, MemoryEntry
from restante_agent.runtime.script import Script
from restante_agent.wire import inbox_calls, memory_calls
from restante_agent.wire.core import Core

PAGE = 1_000
TRIES = 3
"""How often a state is fetched whose revision is gone again before its changes were read."""


def whole_state(core: Core, url: str | None = None) -> Script[State]:
    """The state with the memory of all its pages: what page 1 fixed, each key's higher version."""
    first: State = yield inbox_calls.state(core, url)
    entries: dict[tuple[str, str], MemoryEntry] = {}
    page = first
    while True:
        for entry in page.memory:
            known = entries.get((entry.project, entry.key))
            if known is None or known.version < entry.version:
                entries[entry.project, entry.key] = entry
        if page.next_page_token is None:
            return replace(first, memory=tuple(entries.values()), next_page_token=None)
        page = yield inbox_calls.state(core, page_token=page.next_page_token)


def converged_state(core: Core, url: str | None = None) -> Script[State]:
    """The whole state, and what was written while it was read: its memory is that of one moment."""
    state: State = yield from whole_state(core, url)
    if state.memory_revision is None:
        return state
    view = MemoryView()
    view.replace(state)
    try:
        yield from catching_up(core, view)
    except NotFound:  # a server that has state and no memory
        return state
    return replace(state, memory=view.entries(), memory_revision=view.revision)


def catching_up(core: Core, view: MemoryView) -> Script[None]:
    """Bring a view up to date."""
    for attempt in range(TRIES):
        if view.revision is None:
            state: State = yield from whole_state(core)
            view.replace(state)
        try:
            while True:
                changes: MemoryChanges = yield memory_calls.memory_list(
                    core, view.revision, limit=PAGE
                )
                view.go_on(changes)
                if not changes.has_more:
                    return
        except RevisionGone:
            if attempt == TRIES - 1:
                raise
            state = yield from whole_state(core)
            view.replace(state)
