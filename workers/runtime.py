"""What runs beside the requests of a process: its services, wired to its hub and its database."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from extensions import House
from restante.signals.echoes import Echoes
from restante.signals.neighbours import Neighbours
from restante.signals.rings import Ring
from restante.storage.engine import make_engine
from restante.storage.transaction import Database
from workers.figures import FigureKeeper
from workers.heartbeat import Heartbeat
from workers.history import History
from workers.maintenance import Maintenance
from workers.presence import Presence
from workers.registrar import Registrar
from workers.service import Services
from workers.spans import send_the_last
from workers.sweeper import Sweeper
from workers.tailing import Tailing
from workers.watching import WatchBeats, Watching
from workers.watermark import Watermark
from workers.webhooks import make_relay

log = logging.getLogger("restante.workers")

SLOTS = 8
READ_TIMEOUT_SECONDS = 10


def services_database(house_database: Database, url: str) -> Database:
    """A database for services, so that requests which use up every connection do not stop them.

    SQLite has one writer, whose queue is in the Database: there it is the same.
    """
    if house_database.engine.dialect.name == "sqlite":
        return house_database
    engine = make_engine(url, slots=SLOTS, read_timeout_seconds=READ_TIMEOUT_SECONDS)
    return Database(engine, info=house_database.info, clock_offset=house_database.clock_offset)


class Runtime:
    """The services of one process that serves. Made after the fork; `start` and `stop` once each."""

    def __init__(self, house: House, folder: Path) -> None:
        self.house = house
        self.hub = house.hub
        self.streams = house.streams
        self.database = services_database(house.database, house.settings.database_url)
        self.echoes = Echoes(self.hub.listens)
        self.neighbours = Neighbours(folder, self._heard)
        self.tailing = Tailing(self.database, self.hub, self.echoes)
        self.services = Services(
            [
                Registrar(self.database, self.streams),
                Heartbeat(self.database, self.streams, house.notes),
                Sweeper(self.database, self.streams),
                self.tailing,
                WatchBeats(self.database, house.watches),
                Watching(self.database, house.changes, house.watches),
                History(self.database, house.tally),
                Presence(self.database, house.notes),
                Watermark(self.database, house.settings.instance, house.settings.database_url),
                FigureKeeper(
                    self.database, house.metrics, [house.database, self.database], self.streams
                ),
            ]
        )
        self.maintenance: Maintenance | None = None
        if house.settings.maintenance == "on":
            relay = make_relay(self.database, house.settings, house.challenger.egress, house.spans)
            self.maintenance = Maintenance(self.database, folder, relay)

    def start(self) -> None:
        """Ring and be rung, and keep the streams."""
        self.neighbours.start()
        self.hub.forward = self._forward
        self.services.start()
        if self.maintenance is not None:
            self.maintenance.start()

    def stop(self) -> None:
        """Stop everything, and leave the registry."""
        if self.maintenance is not None:
            self.maintenance.stop()
        self.services.stop()
        self.neighbours.stop()
        if self.house.spans is not None:
            send_the_last(self.house.spans)

    def _forward(self, rings: Sequence[Ring]) -> None:
        self.echoes.heard(rings)
        self.neighbours.ring_many(rings)

    def _heard(self, rings: list[Ring]) -> None:
        self.echoes.heard(rings)
        self.hub.hear_many(rings)
