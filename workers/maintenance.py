"""Maintenance: what keeps the books of inboxes that nobody looks at. Any number of copies may run.

In web processes one of a host runs it, as long as it lives; `restante maintain` always does.
"""

from __future__ import annotations

import threading
from pathlib import Path

from restante.storage.transaction import Database
from restante.webhooks.relay import Relay
from workers.assignments import Assignments
from workers.escalations import Escalations
from workers.key_rotation import KeyRotation
from workers.pruner import Pruner
from workers.retention import Retention
from workers.run_folder import HostLock
from workers.sampler import Sampler
from workers.service import Service, Services
from workers.timers import Timers
from workers.triage import Triage
from workers.webhooks import Webhooks

LOCK_FILE = "maintenance.lock"
TRY_SECONDS = 1.0


def maintenance_services(database: Database, relay: Relay | None = None) -> list[Service]:
    """All of it; webhooks where there is a relay for them."""
    services: list[Service] = [
        Timers(database),
        Retention(database),
        Pruner(database),
        Sampler(database),
        KeyRotation(database),
        Triage(database),
        Assignments(database),
        Escalations(database),
    ]
    return services if relay is None else [*services, Webhooks(relay)]


class Maintenance:
    """The maintenance inside a web process: starts once no other process of the host runs it."""

    def __init__(self, database: Database, folder: Path, relay: Relay | None = None) -> None:
        self.services = Services(maintenance_services(database, relay))
        self._lock = HostLock(folder / LOCK_FILE)
        self._stopping = threading.Event()
        self._runs = False

    def start(self) -> None:
        """Wait for the lock in the background, then run."""
        threading.Thread(target=self._take_over, name="restante-maintenance", daemon=True).start()

    def stop(self) -> None:
        """Stop, and leave the lock to another process."""
        self._stopping.set()
        if self._runs:
            self.services.stop()
        self._lock.free()

    def _take_over(self) -> None:
        while not self._stopping.is_set():
            if self._lock.take():
                self._runs = True
                self.services.start()
                return
            self._stopping.wait(TRY_SECONDS)
