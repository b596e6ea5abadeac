"""A relay as a process of its own, whose clock may be ahead: what a dead one held is over for it at once.

`python -m tests.acceptance.webhook_relay SECONDS`, on the settings of the environment.
"""

from __future__ import annotations

import logging
import signal
import sys
from datetime import timedelta

from config import load_settings
from extensions import rules_of
from restante.inbox.rules import RULES
from restante.storage.engine import make_engine
from restante.storage.transaction import Database
from workers.egress import make_egress
from workers.service import Services
from workers.timers import Timers
from workers.webhooks import Webhooks, make_relay


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s %(message)s")
    settings = load_settings()
    database = Database(
        make_engine(settings.database_url, slots=8),
        clock_offset=timedelta(seconds=float(sys.argv[1])),
        info={RULES: rules_of(settings)},
    )
    relay = make_relay(database, settings, make_egress(settings))
    Services([Timers(database), Webhooks(relay)]).start()
    signal.pause()


if __name__ == "__main__":
    main()
