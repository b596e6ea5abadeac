"""Heartbeats: before each, the right to listen is checked anew, for all streams due by one question."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Generic

from sqlalchemy.exc import SQLAlchemyError

from restante.errors import RestanteError
from restante.identity.standing import may_read
from restante.identity.tokens import Claims
from restante.signals.presence import Notes
from restante.signals.streams import End, Pass, Stream, Streams
from restante.storage.transaction import Database, Session
from workers.service import Service

MOST_UNCHECKED = 3
"""At the third heartbeat in a row that could not be checked a stream ends instead."""
MOST_CHECKED = 1_000
FEW = 200
SLICES = 4
"""More than a few streams are gone through in slices, so that no call waits for all of them."""
LOOKS_APART = 5
"""A closed connection is noticed within so many rounds."""


class Beats(Service, Generic[Pass]):
    """Beats for the streams of a process; ends those that may no longer listen or are too old."""

    def __init__(self, database: Database, streams: Streams[Pass]) -> None:
        super().__init__()
        self._database = database
        self._streams = streams
        self._turn = 0
        self.pause_seconds = min(1.0, streams.heartbeat_seconds / 5) / SLICES

    def allowed(self, session: Session, standing: set[Pass]) -> Mapping[Pass, frozenset[bytes]]:
        """For what each may listen now; nothing at all: it ends."""
        raise NotImplementedError

    def checked(self, stream: Stream[Pass]) -> None:
        """A stream goes on."""

    def run_once(self) -> Mapping[str, int]:
        now = self._streams.clock()
        due: list[Stream[Pass]] = []
        some = self._streams.all()
        slices = SLICES if len(some) > FEW else 1
        look, start = divmod(self._turn, slices)
        self._turn = (self._turn + 1) % (slices * LOOKS_APART)
        for index, stream in enumerate(some[start::slices]):
            if index % LOOKS_APART == look and stream.line is not None and stream.line.is_gone():
                stream.line.hang_up()
                stream.beat()  # which fails
            elif stream.ending is None and stream.ends_at <= now:
                stream.end(stream.ends_by)
            elif stream.ending is not None or stream.beating:
                self._hurry(stream, now)
            elif stream.beat_at <= now:
                due.append(stream)
        revoked = 0
        for first in range(0, len(due), MOST_CHECKED):
            revoked += self._beat(due[first : first + MOST_CHECKED])
        return {"beats": len(due) - revoked, "revoked": revoked}

    def _beat(self, streams: Sequence[Stream[Pass]]) -> int:
        standing = {stream.standing for stream in streams}
        try:
            allowed = self._database.run(lambda session: self.allowed(session, standing))
        except (RestanteError, SQLAlchemyError):
            self._beat_unchecked(streams)
            return 0
        revoked = 0
        now = self._streams.clock()
        for stream in streams:
            stream.unchecked = 0
            project_ids = allowed[stream.standing]
            if not project_ids:
                stream.end(End.REVOKED)
                revoked += 1
                continue
            if project_ids != stream.project_ids:
                stream.project_ids = project_ids
            self.checked(stream)
            self._next(stream, now)
        return revoked

    def _beat_unchecked(self, streams: Sequence[Stream[Pass]]) -> None:
        """Who is revoked in a database that this process alone cannot reach, listens on for a while."""
        now = self._streams.clock()
        for stream in streams:
            stream.unchecked += 1
            if stream.unchecked >= MOST_UNCHECKED:
                stream.end(End.LIFETIME)
            else:
                self._next(stream, now)

    def _next(self, stream: Stream[Pass], now: float) -> None:
        # a little early, since a stream must not be older than one heartbeat when it is checked
        length = self._streams.heartbeat_seconds
        stream.beat_at = now + length * random.uniform(0.75, 0.9)  # noqa: S311 - jitter
        stream.beat()

    def _hurry(self, stream: Stream[Pass], now: float) -> None:
        """Cut off a writer that has not taken its last frame for a heartbeat after the next was due."""
        if now > stream.beat_at + self._streams.heartbeat_seconds and stream.line is not None:
            stream.line.hang_up()


class Heartbeat(Beats[Claims]):
    """Those of agents."""

    name = "heartbeat"

    def __init__(self, database: Database, streams: Streams[Claims], notes: Notes) -> None:
        super().__init__(database, streams)
        self._notes = notes

    def allowed(self, session: Session, standing: set[Claims]) -> dict[Claims, frozenset[bytes]]:
        return may_read(session, standing)

    def checked(self, stream: Stream[Claims]) -> None:
        self._notes.note(stream.recipient_id)
