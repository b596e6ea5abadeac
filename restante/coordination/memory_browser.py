"""What an agent remembers, as operators see it; a value apart, since that it was seen is audited."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from restante.audit.actions import Action
from restante.audit.chain import record
from restante.audit.entries import Entry
from restante.errors import NotFound
from restante.identity.administrators import Administrator
from restante.identity.machine_list import Machine
from restante.identity.projects import projects_of
from restante.identity.roles import Right
from restante.inbox.publication import hash_key
from restante.storage import page_token
from restante.storage.tables.memory import memory_entry


@dataclass(frozen=True, slots=True)
class Remembered:
    """A key without its value. `version`: the memory revision of its last write; `writer`: a public id."""

    project: str
    key: str
    version: int
    value_bytes: int
    updated_at: datetime
    deleted: bool
    writer: str


def list_memory(
    session: Session,
    who: Administrator,
    agent: Machine,
    *,
    limit: int,
    token: str | None = None,
    project: str | None = None,
    key: str | None = None,
) -> tuple[Sequence[Remembered], str | None]:
    """Its keys, what was written last first, deleted ones among them → (keys, next page token).

    `agent` is of the tenant (`read_machine`). `project`, `key`: those of that project, of exactly that
    key. Raises PageTokenInvalid and what `Administrator.require` does.
    """
    who.require(Right.EVENTS_READ)
    of = ("memory", agent.public_id, project or "", key or "")
    before = page_token.take(session, of, token)
    slugs = {one.id: slug for slug, one in projects_of(session, who.tenant_id).items()}
    wanted = [id_ for id_, slug in slugs.items() if project in (None, slug)]
    query = _entries(agent).where(memory_entry.c.project_id.in_(sorted(wanted)))
    if key is not None:
        query = query.where(memory_entry.c.key_hash == hash_key(key))
    if before is not None:
        query = query.where(memory_entry.c.revision < before)
    newest = query.order_by(memory_entry.c.revision.desc()).limit(limit + 1)
    rows = session.connection().execute(newest).all()
    found = [
        Remembered(
            slugs[row.project_id],
            row.entry_key,
            row.revision,
            row.value_bytes,
            row.updated_at,
            row.deleted_at is not None,
            row.writer,
        )
        for row in rows
    ]
    return page_token.cut(session, of, found, limit, lambda one: one.version)


def read_value(
    session: Session, who: Administrator, agent: Machine, *, project: str, key: str
) -> bytes:
    """The value of a key as it was received, and an entry of the audit.

    Raises NotFound (a deleted one too) and what `Administrator.require` does.
    """
    who.require(Right.EVENTS_READ)
    known = projects_of(session, who.tenant_id).get(project)
    if known is None:
        raise NotFound
    query = select(memory_entry.c.value).where(
        memory_entry.c.agent_id == agent.id,
        memory_entry.c.project_id == known.id,
        memory_entry.c.key_hash == hash_key(key),
    )
    value: bytes | None = session.connection().execute(query).scalar()
    if value is None:
        raise NotFound
    told = f"memory of {project}: {key}"
    entry = Entry(who.tenant_id, who.by, Action.PAYLOAD_READ, agent.public_id, reason=told)
    record(session, entry)
    return value


def _entries(agent: Machine) -> Select[Any]:
    return select(
        memory_entry.c.project_id,
        memory_entry.c.entry_key,
        memory_entry.c.revision,
        memory_entry.c.value_bytes,
        memory_entry.c.updated_at,
        memory_entry.c.deleted_at,
        memory_entry.c.writer,
    ).where(memory_entry.c.agent_id == agent.id)
