"""Takes work from who has not read it in time, and routes it on."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from sqlalchemy.exc import SQLAlchemyError

from restante.coordination.rerouting import due_assignments, run_timer
from restante.errors import RestanteError
from restante.storage.transaction import Database
from workers.service import Service, log

ASSIGNMENTS = 100


class Assignments(Service):
    """The timers that have gone off, each in a transaction of its own."""

    name = "assignments"
    pause_seconds = 1.0

    def __init__(self, database: Database) -> None:
        super().__init__()
        self._database = database

    def run_once(self) -> Mapping[str, int]:
        due = self._database.run(lambda session: due_assignments(session, limit=ASSIGNMENTS))
        routed = failed = 0
        for assignment_id in due:
            try:
                routed += self._database.run(partial(run_timer, assignment_id=assignment_id))
            except (RestanteError, SQLAlchemyError) as error:
                failed += 1
                log.warning(
                    "assignment_failed id=%s error=%s", assignment_id.hex(), type(error).__name__
                )
        return {
            "routed": routed,
            "failed": failed,
            "more": int(len(due) == ASSIGNMENTS and routed > 0),
        }
