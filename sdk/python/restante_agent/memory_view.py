"""What an agent remembers, as one of its processes has seen it."""

from __future__ import annotations

from collections.abc import Iterable
from threading import Lock
from typing import Any

from restante_agent.model.inbox import State
from restante_agent.model.memory import MemoryChanges, MemoryEntry

Name = tuple[str, str]


class MemoryView:
    """Entries by project and key, of each the highest version seen. Safe to share between threads.

    `memory_sync.catch_up` keeps it equal to the server's; what one writes oneself is taken in at once:

    >>> view.take([client.memory_put("main", "k", 1)])
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._entries: dict[Name, MemoryEntry] = {}
        self._epoch = ""
        self._revision: int | None = None

    @property
    def revision(self) -> int | None:
        """Everything up to it is in here; None: nothing was fetched yet."""
        return self._revision

    def get(self, project: str, key: str) -> MemoryEntry | None:
        """The entry as it was seen last; None: it is not there."""
        with self._lock:
            entry = self._entries.get((project, key))
        return None if entry is None or entry.deleted else entry

    def values(self, project: str) -> dict[str, Any]:
        """All values of a project, by key."""
        with self._lock:
            return {
                key: entry.value
                for (of, key), entry in self._entries.items()
                if of == project and not entry.deleted
            }

    def entries(self) -> tuple[MemoryEntry, ...]:
        """All that is there."""
        with self._lock:
            return tuple(entry for entry in self._entries.values() if not entry.deleted)

    def take(self, entries: Iterable[MemoryEntry]) -> None:
        """Take entries in, in any order: of each key the higher version stays."""
        with self._lock:
            self._take(entries)

    def go_on(self, changes: MemoryChanges) -> None:
        """Take in a page of changes, read after `revision`."""
        with self._lock:
            self._take(changes.entries)
            self._revision = max(self._revision or 0, changes.memory_revision)

    def replace(self, state: State) -> None:
        """Take in a whole state, its `memory` that of all pages.

        What it has not is gone, unless it was written after it; of another epoch nothing is kept.
        """
        at = state.memory_revision or 0
        with self._lock:
            # before the first state there is only what was written since
            kept = self._entries if self._epoch in ("", state.epoch) else {}
            self._entries = {name: e for name, e in kept.items() if e.version > at}
            self._take(state.memory)
            self._epoch, self._revision = state.epoch, at

    def _take(self, entries: Iterable[MemoryEntry]) -> None:
        for entry in entries:
            known = self._entries.get((entry.project, entry.key))
            if known is None or known.version < entry.version:
                self._entries[entry.project, entry.key] = entry
