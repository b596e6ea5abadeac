"""Keeps the streams of operators: what changed is said once a second, who may watch checked at each beat."""

from __future__ import annotations

from collections.abc import Mapping

from restante.identity.watchers import Watcher, may_watch
from restante.sampling.samples import SLOT_SECONDS
from restante.signals.changes import ALL, Changes, Topic, ring_watchers
from restante.signals.rings import Ring
from restante.signals.streams import Streams
from restante.storage.transaction import Database, Session
from workers.heartbeat import Beats
from workers.service import Service


class WatchBeats(Beats[Watcher]):
    """Ends a stream whose session is over, or whose operator has another role."""

    name = "watch_beats"

    def allowed(
        self, session: Session, standing: set[Watcher]
    ) -> Mapping[Watcher, frozenset[bytes]]:
        may = may_watch(session, standing)
        return {one: ALL if one in may else frozenset() for one in standing}


class Watching(Service):
    """Rings for what this process changed, a transaction a pass where there is any; and with each sample."""

    name = "watching"
    pause_seconds = 1.0

    def __init__(self, database: Database, changes: Changes, watches: Streams[Watcher]) -> None:
        super().__init__()
        self._database = database
        self._changes = changes
        self._watches = watches
        self._turn = 0

    def run_once(self) -> Mapping[str, int]:
        noted = self._changes.take()
        rung = self._database.run(lambda session: ring_watchers(session, noted)) if noted else 0
        self._watches.changes()  # nobody registers them: what came and went is forgotten
        self._turn = (self._turn + 1) % SLOT_SECONDS
        by_time = 0
        if self._turn == 0:
            places = {watch.recipient_id for watch in self._watches.all()}
            rings = [Ring(place, Topic.FIGURES.id) for place in sorted(places)]
            by_time = self._watches.hub.hear_many(rings)
        return {"rung": rung, "by_time": by_time}
