"""Keeps the rows that tell other processes which streams are open here."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from sqlalchemy.exc import SQLAlchemyError

from restante.errors import RestanteError
from restante.identity.tokens import Claims
from restante.signals import registry
from restante.signals.registry import Opened
from restante.signals.streams import End, Stream, Streams
from restante.storage.ids import new_id
from restante.storage.transaction import Database
from workers.service import Service

SEEN_EVERY = 5


class Registrar(Service):
    """Writes openings and closings of a second together; closes a ninth stream of an agent."""

    name = "registrar"

    def __init__(self, database: Database, streams: Streams[Claims]) -> None:
        super().__init__()
        self.node_id = new_id()
        self._database = database
        self._streams = streams
        self._registered: set[bytes] = set()
        self._is_unsure = True
        self._turn = 0

    def run_once(self) -> Mapping[str, int]:
        closed_elsewhere = 0
        if self._turn % SEEN_EVERY == 0:
            count = self._database.run(lambda session: registry.is_seen(session, self.node_id))
            if count is None:
                self._is_unsure = True  # taken for dead, and forgotten
            elif count < len(self._registered):
                closed_elsewhere = self._close_deleted()
        self._turn += 1
        opened, closed = self._streams.changes()
        try:
            if self._is_unsure:
                self._write_all()
            else:
                self._write(opened, closed)
        except (RestanteError, SQLAlchemyError):
            self._is_unsure = True  # it may have been written all the same
            raise
        surplus = self._take_surplus(opened) if opened else 0
        return {
            "opened": len(opened),
            "closed": len(closed),
            "replaced": surplus + closed_elsewhere,
        }

    def finish(self) -> None:
        # where it fails, whoever finds the row old removes it
        with suppress(RestanteError, SQLAlchemyError):
            self._database.run(lambda session: registry.leave(session, self.node_id))

    def _write(self, opened: list[Stream[Claims]], closed: list[bytes]) -> None:
        if not opened and not closed:
            return
        rows = self._rows(opened)
        self._database.run(
            lambda session: registry.write_changes(session, self.node_id, rows, closed)
        )
        self._registered.update(row.stream_id for row in rows)
        self._registered.difference_update(closed)

    def _write_all(self) -> None:
        rows = self._rows(self._streams.all())
        self._database.run(lambda session: registry.write_all(session, self.node_id, rows))
        self._registered = {row.stream_id for row in rows}
        self._is_unsure = False

    def _rows(self, streams: list[Stream[Claims]]) -> list[Opened]:
        now = self._streams.clock()
        return [Opened(s.stream_id, s.recipient_id, now - s.opened_at) for s in streams]

    def _take_surplus(self, opened: list[Stream[Claims]]) -> int:
        recipients = {stream.recipient_id for stream in opened}
        gone = self._database.run(lambda session: registry.take_surplus(session, recipients))
        return self._replace(gone)

    def _close_deleted(self) -> int:
        left = self._database.run(lambda session: registry.registered(session, self.node_id))
        return self._replace(self._registered - left)

    def _replace(self, stream_ids: list[bytes] | set[bytes]) -> int:
        replaced = 0
        for stream_id in stream_ids:
            self._registered.discard(stream_id)
            stream = self._streams.get(stream_id)
            if stream is not None and stream.ending is None:
                stream.end(End.REPLACED)
                replaced += 1
        return replaced
