"""What this agent has finished, and how far it has read: one SQLite file per agent.

The row is written after the handler's success and before the ack, so an event that comes again
because its ack was lost is acked without work. Several processes may share the file.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from restante_agent import jsontext
from restante_agent.errors import ConfigurationError

_SCHEMA = """
CREATE TABLE IF NOT EXISTS finished (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    event_id TEXT NOT NULL UNIQUE,
    result BLOB
);
CREATE TABLE IF NOT EXISTS position (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    cursor INTEGER NOT NULL,
    epoch TEXT NOT NULL
);
"""


@dataclass(frozen=True, slots=True)
class Finished:
    """An event worked before, with the result its handler gave."""

    result: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Position:
    """Everything up to `cursor` was seen, in the history that `epoch` names."""

    cursor: int
    epoch: str


class Record:
    """Safe for threads and processes. `limit` bounds the events remembered."""

    def __init__(
        self,
        path: Path,
        *,
        limit: int = 10_000,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._limit, self._lock = limit, Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._db = sqlite3.connect(
                path, timeout=15.0, isolation_level=None, check_same_thread=False
            )
            _prepare(self._db, sleep)
        except (OSError, sqlite3.DatabaseError) as error:
            raise ConfigurationError(
                f"the record {path} cannot be opened ({error}); mend it, move it away, or choose"
                " another state directory"
            ) from error

    def find(self, event_id: str) -> Finished | None:
        with self._lock:
            row = self._db.execute(
                "SELECT result FROM finished WHERE event_id = ?", (event_id,)
            ).fetchone()
        if row is None:
            return None
        return Finished(None if row[0] is None else jsontext.loads(row[0]))

    def add(self, event_id: str, result: Mapping[str, Any] | None) -> None:
        """Durable when it returns (synchronous=FULL); the oldest beyond the limit go."""
        text = None if result is None else jsontext.dumps(result)
        with self._transaction() as db:
            db.execute(
                "INSERT OR IGNORE INTO finished (event_id, result) VALUES (?, ?)", (event_id, text)
            )
            db.execute(
                "DELETE FROM finished WHERE number <= (SELECT max(number) FROM finished) - ?",
                (self._limit,),
            )

    def position(self) -> Position | None:
        with self._lock:
            row = self._db.execute("SELECT cursor, epoch FROM position").fetchone()
        return None if row is None else Position(*row)

    def move(self, position: Position) -> None:
        """Persist a position. Within an epoch it only moves forward, whoever writes last."""
        with self._transaction() as db:
            db.execute(
                "INSERT INTO position (only_row, cursor, epoch) VALUES (1, ?, ?)"
                " ON CONFLICT (only_row) DO UPDATE SET cursor = excluded.cursor,"
                " epoch = excluded.epoch"
                " WHERE epoch <> excluded.epoch OR cursor < excluded.cursor",
                (position.cursor, position.epoch),
            )

    def reset(self, position: Position) -> None:
        """Persist where to go on after a 410, also backwards."""
        with self._transaction() as db:
            db.execute(
                "INSERT OR REPLACE INTO position (only_row, cursor, epoch) VALUES (1, ?, ?)",
                (position.cursor, position.epoch),
            )

    def close(self) -> None:
        with self._lock:
            self._db.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")


def _prepare(db: sqlite3.Connection, sleep: Callable[[float], None]) -> None:
    # Two processes that make the file at once: the switch to WAL does not wait for locks.
    for attempt in range(100):
        try:
            db.execute("PRAGMA journal_mode = WAL")
            break
        except sqlite3.OperationalError:
            if attempt == 99:
                raise
            sleep(0.05)
    db.execute("PRAGMA synchronous = FULL")
    db.executescript(_SCHEMA)
