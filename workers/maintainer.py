"""The process of `restante maintain` (maintain.py starts it)."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Mapping
from pathlib import Path
from types import FrameType

from config import Settings
from extensions import key_schedule, rules_of
from restante.coordination.rerouting import on_end
from restante.identity.key_rotation import KEY_SCHEDULE
from restante.inbox.ends import ON_END
from restante.inbox.rules import RULES
from restante.observations import ON_OBSERVED, both
from restante.sampling.tally import Tally
from restante.signals.neighbours import Neighbours
from restante.signals.rings import ON_RING, Ring
from restante.storage.engine import make_engine
from restante.storage.transaction import Database
from workers.egress import make_egress
from workers.figures import FigureKeeper
from workers.history import History
from workers.maintenance import maintenance_services
from workers.metrics import Metrics
from workers.service import Services
from workers.spans import make_spans, send_the_last
from workers.webhooks import make_relay

log = logging.getLogger("restante.workers")

SLOTS = 8


def maintain(settings: Settings, folder: Path, *, once: bool) -> Mapping[str, Mapping[str, int]]:
    """Maintain until SIGTERM or SIGINT; `once`: one pass of everything. Returns what that did.

    The web processes of this host are rung directly, others through the table.
    """
    metrics, tally = Metrics(), Tally()
    neighbours = Neighbours(folder, _hear_nothing)
    database = Database(
        make_engine(settings.database_url, slots=SLOTS),
        info={
            RULES: rules_of(settings),
            KEY_SCHEDULE: key_schedule(settings),
            ON_RING: neighbours.ring_many,
            ON_END: on_end,
            ON_OBSERVED: both(metrics.observe, tally.observe),
        },
    )
    spans = make_spans(os.environ)
    relay = make_relay(database, settings, make_egress(settings), spans)
    services = [*maintenance_services(database, relay), History(database, tally)]
    neighbours.start()
    try:
        if once:
            return Services(services).run_once()
        _run(Services([*services, FigureKeeper(database, metrics, [database])]))
        return {}
    finally:
        neighbours.stop()
        if spans is not None:
            send_the_last(spans)
        database.engine.dispose()


def _hear_nothing(rings: list[Ring]) -> None:
    """Nobody listens here."""


def _run(services: Services) -> None:
    stop = threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    services.start()
    log.info("maintenance_started services=%s", len(services.all))
    stop.wait()
    services.stop()
