"""Scavenger, scheduler and expiry in one: what is due in inboxes that nobody looks at."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from sqlalchemy.exc import SQLAlchemyError

from restante.errors import RestanteError
from restante.inbox.timers import due_inboxes, run_due
from restante.storage.transaction import Database
from workers.service import Service, log

INBOXES = 100


class Timers(Service):
    """Runs the due timers of inboxes, each in a transaction of its own, a second apart at most."""

    name = "timers"
    pause_seconds = 1.0

    def __init__(self, database: Database) -> None:
        super().__init__()
        self._database = database

    def run_once(self) -> Mapping[str, int]:
        due = self._database.run(lambda session: due_inboxes(session, limit=INBOXES))
        moved = failed = 0
        for recipient_id in due:
            try:
                moved += self._database.run(partial(run_due, recipient_id=recipient_id))
            except (RestanteError, SQLAlchemyError) as error:
                # one inbox that cannot be served does not keep the others from it
                failed += 1
                log.warning(
                    "timers_failed recipient=%s error=%s", recipient_id.hex(), type(error).__name__
                )
        return {
            "inboxes": len(due),
            "moved": moved,
            "failed": failed,
            "more": int(len(due) == INBOXES and moved > 0),
        }
