"""Rotates the server's keys by schedule."""

from __future__ import annotations

from collections.abc import Mapping

from restante.identity.key_rotation import KEY_SCHEDULE, rotate_due
from restante.storage.transaction import Database
from workers.service import Service


class KeyRotation(Service):
    """Asks once a minute whether a key has grown too old. Without a schedule it does nothing."""

    name = "key_rotation"
    pause_seconds = 60.0

    def __init__(self, database: Database) -> None:
        super().__init__()
        self._database = database

    def run_once(self) -> Mapping[str, int]:
        schedule = self._database.info.get(KEY_SCHEDULE)
        if schedule is None:
            return {"made": 0}
        return {"made": self._database.run(lambda session: rotate_due(session, schedule))}
