"""Marks how far the database has come, here and in it, so that a restored backup is noticed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from restante.storage import incarnation
from restante.storage.transaction import Database
from workers.service import Service


class Watermark(Service):
    """Moves the mark on once a minute: at most that much of a lost time goes unnoticed.

    A pass fails, and notes nothing, once the database is older than it was: from then on the
    log says so, and the next `serve` refuses to start.
    """

    name = "watermark"
    pause_seconds = 60.0

    def __init__(self, database: Database, folder: Path, database_url: str) -> None:
        super().__init__()
        self._database = database
        self._here = folder, database_url

    def run_once(self) -> Mapping[str, int]:
        incarnation.check_seen(*self._here, self._database.run(incarnation.current))
        present = self._database.run(incarnation.advance)
        incarnation.note_seen(*self._here, present)
        return {"mark": present.mark}
