"""Follows the rings that other processes have committed: one statement a tick."""

from __future__ import annotations

from collections.abc import Mapping

from restante.signals.echoes import Echoes
from restante.signals.hub import Hub
from restante.signals.tailer import MOST_ROWS, Tailer
from restante.storage.transaction import Database
from workers.service import Service

PLACE_EVERY = 40
"""Passes after which it looks whether the table has begun anew under it."""


class Tailing(Service):
    """Rings here for what the table says and nobody has told this process directly."""

    name = "tailing"
    pause_seconds = 0.25

    def __init__(self, database: Database, hub: Hub, echoes: Echoes) -> None:
        super().__init__()
        self._database = database
        self._hub = hub
        self._echoes = echoes
        self._tailer = Tailer()

    def run_once(self) -> Mapping[str, int]:
        if self.passes % PLACE_EVERY == 0:
            self._database.run(self._tailer.find_place)
        wakes = self._database.run(self._tailer.read)
        if self._tailer.skipped:
            self._tailer.skipped = False
            self._echoes.forget_heard()
            self._hub.doubt()
        news = self._echoes.news(self._tailer.note(wakes))
        return {
            "read": len(wakes),
            "rung": self._hub.hear_many(news),
            "more": int(len(wakes) >= MOST_ROWS),
        }
