"""Writing memory: put, merge, delete, each with the next revision of the agent's memory.

Lock order: the agent's inbox row, where it is told of the write, then its row in `agent_memory`,
under which every write of its memory stands, so that revision order is commit order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson
from sqlalchemy.orm import Session

from restante.coordination import memory_rows
from restante.coordination.entries import Entry, Expect
from restante.errors import (
    NotFound,
    PayloadTooLarge,
    RecipientRefused,
    RestanteError,
    TooManyMemoryKeys,
    VersionConflict,
)
from restante.identity.principal import Principal, Project
from restante.identity.scopes import ProjectScope, TenantScope, Verb
from restante.inbox.merge_patch import merged
from restante.inbox.place import lock_inboxes
from restante.inbox.publication import Publication, hash_key
from restante.inbox.publish import publish
from restante.inbox.recipients import check_recipients
from restante.storage.clock import database_now

EVENT_TYPE = "memory_update"
VALUE_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Put:
    """Set the value: JSON's text, kept as it is."""

    value: bytes


@dataclass(frozen=True, slots=True)
class Merge:
    """Merge a patch, JSON's text, into the value; where there is none, into an empty object."""

    patch: bytes


@dataclass(frozen=True, slots=True)
class Delete:
    """Take the key away. `must_be_there`: else a tombstone of what never was says the same."""

    must_be_there: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """One write of one key. `project`: one that the writer has the verb for."""

    project: Project
    key: str
    change: Put | Merge | Delete
    expect: Expect | None = None

    @property
    def place(self) -> tuple[bytes, bytes]:
        """Where it stands in the agent's memory."""
        return self.project.id, hash_key(self.key)


def writable(writer: Principal, slug: str) -> Project:
    """The project named, for writing memory in it.

    Raises InsufficientScope; NotFound where it is not there and the writer may write in all there are.
    """
    if writer.has(TenantScope.MEMORY_WRITE) and slug not in writer.projects:
        raise NotFound
    return writer.require(Verb.MEMORY, slug)


def write_one(
    session: Session, writer: Principal, agent_id: bytes, write: Write, *, notify: bool = False
) -> Entry:
    """Write one key of an agent's memory → what it is now. Raises what `write_many` answers."""
    (outcome,) = write_many(session, writer, agent_id, [write], notify=notify)
    if isinstance(outcome, RestanteError):
        raise outcome
    return outcome


def write_many(
    session: Session,
    writer: Principal,
    agent_id: bytes,
    writes: Sequence[Write],
    *,
    notify: bool = False,
) -> list[Entry | RestanteError]:
    """Write different keys → for each what it is now, or why it was not written.

    Why not: VersionConflict, NotFound, TooManyMemoryKeys, PayloadTooLarge. The agent is told by an
    event of each, unless it is the writer; `notify`: then too. Raises NotFound for an agent that is
    unknown, foreign, removed or without the project; RecipientRefused for a writer that is to be told
    itself and does not read the project.
    """
    tells = notify or writer.id != agent_id
    if tells:
        # before anything of it is looked at: it may be another tenant's
        try:
            check_recipients(session, writer, [_notice(agent_id, write) for write in writes])
        except RecipientRefused:
            if writer.id == agent_id:
                raise
            raise NotFound from None  # its path names it: there is no such memory
        lock_inboxes(session, [agent_id])
    revision = memory_rows.lock(session, writer.tenant_id, agent_id)
    rows = memory_rows.find(
        session,
        agent_id,
        {write.place for write in writes},
        values=any(isinstance(write.change, Merge) for write in writes),
    )
    now = database_now(session)
    new = {write.project.id for write in writes if not _is_there(rows.get(write.place))}
    room = memory_rows.room(session, agent_id, new)
    outcomes: list[Entry | RestanteError] = []
    written: list[tuple[Write, Entry]] = []
    for write in writes:
        try:
            value = _value(write, rows.get(write.place), room)
        except RestanteError as refused:
            outcomes.append(refused)
            continue
        revision += 1
        entry = Entry(write.project.slug, write.key, value, revision, now)
        written.append((write, entry))
        outcomes.append(entry)
    if written:
        places = [(write.place, entry) for write, entry in written]
        memory_rows.save(session, agent_id, places, rows, writer=writer.public_id)
        if tells:
            notices = [_notice(agent_id, write, entry) for write, entry in written]
            publish(session, _teller(writer, written), notices)
    return outcomes


def _value(write: Write, row: Any | None, room: Counter[bytes]) -> bytes | None:
    """What the key is to be; None: deleted. Or why not."""
    is_there = _is_there(row)
    version = row.revision if row is not None and is_there else None
    if write.expect is not None and not write.expect.holds(version):
        raise VersionConflict(current_version=version)
    match write.change:
        case Delete(must_be_there):
            if must_be_there and not is_there:
                raise NotFound
            return None
        case Put(value):
            pass
        case Merge(patch):
            value = merged(row.value if row is not None else None, patch)
    if len(value) > VALUE_BYTES:
        raise PayloadTooLarge(
            f"A value of memory may have {VALUE_BYTES} bytes.", limit_bytes=VALUE_BYTES
        )
    if not is_there:
        if not room[write.project.id]:
            raise TooManyMemoryKeys
        room[write.project.id] -= 1
    return value


def _is_there(row: Any | None) -> bool:
    return row is not None and row.deleted_at is None


def _notice(agent_id: bytes, write: Write, entry: Entry | None = None) -> Publication:
    """The event that tells of a write; not of the value."""
    told = {"type": EVENT_TYPE, "project": write.project.slug, "key": write.key}
    if entry is not None:
        told["version"] = entry.version  # type: ignore[assignment]  # JSON has several kinds
    return Publication(
        recipients=(agent_id,),
        project=write.project.slug,
        type=EVENT_TYPE,
        payload=orjson.dumps(told),
    )


def _teller(writer: Principal, written: Sequence[tuple[Write, Entry]]) -> Principal:
    """The writer as the producer of these events: who may write may tell of it."""
    slugs = {write.project.slug for write, _ in written}
    return replace(writer, scopes=frozenset(ProjectScope(slug, Verb.PUBLISH) for slug in slugs))
