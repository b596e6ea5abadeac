"""Writes down when agents were last seen and how far they have read."""

from __future__ import annotations

from collections.abc import Mapping

from restante.signals.presence import Notes, write_presence
from restante.storage.transaction import Database
from workers.service import Service


class Presence(Service):
    """One statement for all agents seen since the last pass; an agent at most every ten seconds."""

    name = "presence"
    pause_seconds = 2.0

    def __init__(self, database: Database, notes: Notes) -> None:
        super().__init__()
        self._database = database
        self._notes = notes

    def run_once(self) -> Mapping[str, int]:
        seen = self._notes.take()
        if seen:
            self._database.run(lambda session: write_presence(session, seen))
        return {"seen": len(seen)}
