"""Takes the figures of the installation, so that no scrape and no page asks the database for them."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from datetime import datetime

from sqlalchemy.orm import Session

from restante.inbox.timers import oldest_due
from restante.sampling.depths import INBOXES, Depth, depths
from restante.sampling.history import Standing, write_standings
from restante.sampling.inbox_history import write_depths
from restante.sampling.inbox_standing import write_inboxes
from restante.sampling.samples import ALL, SLOT_SECONDS, Figures, Measure, take_slot, write_samples
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, encode_id
from restante.storage.transaction import Database
from workers.service import Service

DEEPEST = 20
RESTS = 9


class Sampler(Service):
    """Writes a sample every fifteen seconds, whoever is first; some inboxes a transaction."""

    name = "sampler"
    pause_seconds = SLOT_SECONDS / 3

    def __init__(self, database: Database) -> None:
        super().__init__()
        self._database = database

    def next_pause(self, took_seconds: float) -> float:
        """With very many inboxes a pass takes longer than a slot: it works a tenth of the time at most."""
        return max(super().next_pause(took_seconds), RESTS * took_seconds)

    def run_once(self) -> Mapping[str, int]:
        slot = self._database.run(take_slot)
        if slot is None:
            return {"samples": 0}
        inboxes = self._depths()
        now, oldest_timer = self._database.run(_times)
        figures = _figures(inboxes, now, oldest_timer)
        standings = _standings(inboxes, now)
        self._database.run(lambda session: write_samples(session, slot, figures))
        for start in range(0, len(inboxes), INBOXES):
            some = inboxes[start : start + INBOXES]
            self._database.run(lambda session: _write(session, slot, some))  # noqa: B023 - runs now
        # last: that tenants stand in a slot says that what lies in their inboxes is written
        self._database.run(lambda session: write_standings(session, standings, slot))
        return {"samples": len(figures), "tenants": len(standings)}

    def _depths(self) -> list[Depth]:
        found: list[Depth] = []
        after: bytes | None = b""
        while after is not None:
            last = after
            some, after = self._database.run(lambda session: depths(session, last))  # noqa: B023 - runs now
            found += some
        return found


def _write(session: Session, slot: datetime, some: list[Depth]) -> None:
    write_depths(session, slot, some)
    write_inboxes(session, some)


def _figures(inboxes: Iterable[Depth], now: datetime, oldest_timer: datetime | None) -> Figures:
    pending = 0
    oldest = None
    deepest: list[tuple[int, bytes]] = []
    for depth in inboxes:
        if not depth.pending:
            continue
        pending += depth.pending
        oldest = min(filter(None, (oldest, depth.oldest_at)), default=None)
        heapq.heappush(deepest, (depth.pending, depth.recipient_id))
        if len(deepest) > DEEPEST:
            heapq.heappop(deepest)
    figures: Figures = {
        (encode_id(Prefix.AGENT, recipient_id), Measure.PENDING): count
        for count, recipient_id in deepest
    }
    figures[ALL, Measure.PENDING] = pending
    figures[ALL, Measure.DEPTH_OF_THE_REST] = pending - sum(count for count, _ in deepest)
    figures[ALL, Measure.OLDEST_PENDING_AGE] = _age(oldest, now)
    figures[ALL, Measure.OLDEST_TIMER_AGE] = _age(oldest_timer, now)
    return figures


def _standings(inboxes: Iterable[Depth], now: datetime) -> dict[bytes, Standing]:
    """Of tenants that have an inbox: that none has ever got mail is what its first is counted from."""
    by_tenant: dict[bytes, list[Depth]] = {}
    for depth in inboxes:
        by_tenant.setdefault(depth.tenant_id, []).append(depth)
    return {
        tenant_id: Standing(
            pending=sum(one.pending for one in some),
            oldest_pending_seconds=max(_age(one.oldest_at, now) for one in some),
            claimed=sum(one.claimed for one in some),
            quarantined=sum(one.quarantined for one in some),
            arrived=sum(one.head for one in some),
        )
        for tenant_id, some in by_tenant.items()
    }


def _age(since: datetime | None, now: datetime) -> float:
    return 0.0 if since is None else max(0.0, (now - since).total_seconds())


def _times(session: Session) -> tuple[datetime, datetime | None]:
    return database_now(session), oldest_due(session)
