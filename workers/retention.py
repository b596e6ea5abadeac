"""Moves old events from the front of each inbox into the archive, and drops old tombstones of memory."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from sqlalchemy.exc import SQLAlchemyError

from restante.coordination.tombstones import (
    agents_with_old_tombstones,
    forget_tombstones,
    raise_memory_floor,
)
from restante.errors import RestanteError
from restante.inbox.retention import (
    aged_inboxes,
    archive,
    prune_scheduled,
    raise_floor,
    ripe_inboxes,
)
from restante.storage.transaction import Database
from workers.service import Service, log

INBOXES = 50
BATCHES = 20
"""Batches of one inbox before the others have their turn."""


class Retention(Service):
    """Goes round all inboxes. The floor is committed before the rows below it go."""

    name = "retention"
    pause_seconds = 5.0

    def __init__(self, database: Database) -> None:
        super().__init__()
        self._database = database
        self._after = b""

    def run_once(self) -> Mapping[str, int]:
        recipients = self._database.run(
            lambda session: aged_inboxes(session, after=self._after, limit=INBOXES)
        )
        archived = failed = 0
        # two transactions an inbox are only for those where there is something to eat
        ripe = self._database.run(lambda session: ripe_inboxes(session, recipients))
        for recipient_id in ripe:
            try:
                archived += self._eat(recipient_id)
            except (RestanteError, SQLAlchemyError) as error:
                failed += 1
                log.warning(
                    "retention_failed recipient=%s error=%s",
                    recipient_id.hex(),
                    type(error).__name__,
                )
        is_round_over = len(recipients) < INBOXES
        self._after = b"" if is_round_over else recipients[-1]
        scheduled = self._database.run(prune_scheduled) if is_round_over else 0
        forgotten = self._forget() if is_round_over else 0
        return {
            "inboxes": len(recipients),
            "archived": archived,
            "scheduled": scheduled,
            "tombstones": forgotten,
            "failed": failed,
            "more": int(not is_round_over),
        }

    def _forget(self) -> int:
        """Drop old tombstones of memory, some agents' a round; the floor is committed before."""
        agents = self._database.run(lambda s: agents_with_old_tombstones(s, limit=INBOXES))
        forgotten = 0
        for agent_id in agents:
            self._database.run(partial(raise_memory_floor, agent_id=agent_id))
            forgotten += self._database.run(partial(forget_tombstones, agent_id=agent_id))
        return forgotten

    def _eat(self, recipient_id: bytes) -> int:
        archived = 0
        for _ in range(BATCHES):
            floor = self._database.run(lambda session: raise_floor(session, recipient_id))
            moved = self._database.run(lambda session: archive(session, recipient_id))
            archived += moved
            if floor is None and not moved:
                break
        return archived
