"""Adds what this process has counted to the history of tenants."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from restante.sampling.history import add_counts, tenants_of
from restante.sampling.samples import SLOT_SECONDS
from restante.sampling.tally import Counts, Tally
from restante.storage.transaction import Database, Session
from workers.service import EXPECTED, Service

RECIPIENTS = 1_000


class History(Service):
    """Every fifteen seconds, where something was counted: the tenants are looked up with it."""

    name = "history"
    pause_seconds = float(SLOT_SECONDS)

    def __init__(self, database: Database, tally: Tally) -> None:
        super().__init__()
        self._database = database
        self._tally = tally

    def run_once(self) -> Mapping[str, int]:
        counts = self._tally.take()
        if not counts:
            return {"inboxes": 0}
        try:
            self._database.run(lambda session: _add(session, counts))
        except BaseException:
            self._tally.give_back(counts)
            raise
        return {"inboxes": len(counts)}

    def finish(self) -> None:
        with suppress(*EXPECTED):
            self.run_once()


def _add(session: Session, counts: Mapping[bytes, Counts]) -> None:
    summed: dict[bytes, Counts] = {}
    ids = sorted(counts)
    for start in range(0, len(ids), RECIPIENTS):
        for recipient_id, tenant_id in tenants_of(session, ids[start : start + RECIPIENTS]).items():
            summed.setdefault(tenant_id, Counts()).add(counts[recipient_id])
    add_counts(session, summed)
