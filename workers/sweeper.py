"""Rings again while something waits, and makes good rings that were lost."""

from __future__ import annotations

from collections.abc import Mapping

from restante.identity.tokens import Claims
from restante.signals.rings import Ring
from restante.signals.streams import Streams
from restante.signals.sweep import waiting
from restante.storage.transaction import Database
from workers.service import Service

MOST_STREAMS = 2_000


class Sweeper(Service):
    """Asks for the streams whose pause is over whether something waits; the pauses grow to a minute."""

    name = "sweeper"
    pause_seconds = 0.5

    def __init__(self, database: Database, streams: Streams[Claims]) -> None:
        super().__init__()
        self._database = database
        self._streams = streams

    def run_once(self) -> Mapping[str, int]:
        now = self._streams.clock()
        open_now = [(s, s.sweep_at) for s in self._streams.all() if s.ending is None]
        due = [(s, at) for s, at in open_now if at <= now]
        more, due = len(due) > MOST_STREAMS, due[:MOST_STREAMS]
        pairs = {(s.recipient_id, p) for s, _ in due for p in s.project_ids}
        found = self._database.run(lambda session: waiting(session, pairs)) if pairs else {}
        rung = 0
        for stream, at in due:
            if stream.sweep_at == at:  # else somebody wants another look, for what came meanwhile
                stream.back_off(now)
            rings = [
                Ring(stream.recipient_id, project_id, inbox.head)
                for project_id in stream.project_ids
                if (inbox := found.get((stream.recipient_id, project_id))) is not None
                and (inbox.waits or inbox.head > stream.head)
            ]
            for ring in rings:
                rung += stream.hear(ring)
        return {"swept": len(due), "rung": rung, "more": int(more)}
