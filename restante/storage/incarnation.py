"""Which history a database is, and how far it has come.

A restored backup is the same database at an earlier time: agents would be given sequence numbers
and generations a second time. `restante db restored` begins a new incarnation; until it has run,
a `serve` that saw the later time refuses to start (instance/seen.json).
"""

from __future__ import annotations

import hashlib
import json
import secrets
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from sqlalchemy import delete, insert, select, update
from sqlalchemy.orm import Session

from restante.errors import RestanteError
from restante.storage.address import parse_address
from restante.storage.clock import database_now
from restante.storage.instance import write_private
from restante.storage.tables.operation import incarnation


class DatabaseOlderThanSeen(RestanteError):
    """This database is an earlier state of the one that was served from here: a backup was restored."""


COPYING = "copying:"
"""What the incarnation of a half-made copy begins with."""


class HalfCopied(RestanteError):
    """This database is half a copy: run the `restante db copy` that was broken off again, to its end."""


@dataclass(frozen=True, slots=True)
class Incarnation:
    """A history by its id; `mark` only grows within it."""

    id: str
    begun_at: str
    mark: int

    def is_before(self, other: Incarnation) -> bool:
        """Whether this is an earlier time than the other."""
        if self.id == other.id:
            return self.mark < other.mark
        return self.begun_at < other.begun_at


def begin(session: Session) -> Incarnation:
    """A new history, in place of the one there was."""
    session.connection().execute(delete(incarnation))
    session.connection().execute(
        insert(incarnation).values(
            incarnation_id=secrets.token_hex(16), begun_at=database_now(session), mark=0
        )
    )
    return current(session)


def advance(session: Session) -> Incarnation:
    """Move the mark on by one."""
    current(session)
    session.connection().execute(update(incarnation).values(mark=incarnation.c.mark + 1))
    return current(session)


def current(session: Session) -> Incarnation:
    """The history as it is; a new database begins its first. Raises HalfCopied."""
    asked = select(incarnation.c.incarnation_id, incarnation.c.begun_at, incarnation.c.mark)
    row = session.connection().execute(asked).one_or_none()
    if row is None:
        return begin(session)
    if row.incarnation_id.startswith(COPYING):
        raise HalfCopied
    begun_at: datetime = row.begun_at
    return Incarnation(row.incarnation_id, begun_at.isoformat(timespec="microseconds"), row.mark)


def check_seen(folder: Path, database_url: str, present: Incarnation) -> None:
    """Raise DatabaseOlderThanSeen where this installation has seen a later time of the database."""
    text = _file(folder, database_url)
    if text.exists() and present.is_before(Incarnation(**json.loads(text.read_text()))):
        raise DatabaseOlderThanSeen(
            "The database is older than when it was last served from here, so a backup must have been "
            "restored. Run `restante db restored` once: it begins new epochs, and agents fetch their "
            f"state anew. (If this is another database on purpose, remove {text}.)"
        )


def note_seen(folder: Path, database_url: str, present: Incarnation) -> None:
    """Remember the present time of the database in the instance folder."""
    file = _file(folder, database_url)
    write_private(file, json.dumps(asdict(present)) + "\n")


def _file(folder: Path, database_url: str) -> Path:
    """One file per database that is served with this folder; its name tells no password."""
    name = parse_address(database_url).name
    return folder / f"seen-{hashlib.sha256(name.encode()).hexdigest()[:16]}.json"
