"""Takes the figures of the installation, so that no scrape and no page asks the database for them."""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from datetime import datetime

from sqlalchemy.orm import Session

from restante.inbox.timers import oldest_due
from restante.sampling.depths import Depth, depths
from restante.sampling.samples import ALL, SLOT_SECONDS, Figures, Measure, take_slot, write_samples
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, encode_id
from restante.storage.transaction import Database
from workers.service import Service

DEEPEST = 20


class Sampler(Service):
    """Writes a sample every fifteen seconds, whoever is first; some inboxes a transaction."""

    name = "sampler"
    pause_seconds = SLOT_SECONDS / 3

    def __init__(self, database: Database) -> None:
        super().__init__()
        self._database = database

    def run_once(self) -> Mapping[str, int]:
        slot = self._database.run(take_slot)
        if slot is None:
            return {"samples": 0}
        figures = self._figures()
        self._database.run(lambda session: write_samples(session, slot, figures))
        return {"samples": len(figures)}

    def _figures(self) -> Figures:
        pending = 0
        oldest = None
        deepest: list[tuple[int, bytes]] = []
        for depth in self._depths():
            pending += depth.pending
            oldest = min(oldest or depth.oldest_at, depth.oldest_at)
            heapq.heappush(deepest, (depth.pending, depth.recipient_id))
            if len(deepest) > DEEPEST:
                heapq.heappop(deepest)
        now, oldest_timer = self._database.run(_times)
        figures: Figures = {
            (encode_id(Prefix.AGENT, recipient_id), Measure.PENDING): count
            for count, recipient_id in deepest
        }
        figures[ALL, Measure.PENDING] = pending
        figures[ALL, Measure.DEPTH_OF_THE_REST] = pending - sum(count for count, _ in deepest)
        for measure, since in (
            (Measure.OLDEST_PENDING_AGE, oldest),
            (Measure.OLDEST_TIMER_AGE, oldest_timer),
        ):
            figures[ALL, measure] = (
                0.0 if since is None else max(0.0, (now - since).total_seconds())
            )
        return figures

    def _depths(self) -> list[Depth]:
        found: list[Depth] = []
        after: bytes | None = b""
        while after is not None:
            last = after
            some, after = self._database.run(lambda session: depths(session, last))  # noqa: B023 - runs now
            found += some
        return found


def _times(session: Session) -> tuple[datetime, datetime | None]:
    return database_now(session), oldest_due(session)
