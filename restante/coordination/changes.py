"""What has changed in an agent's memory since a revision (contract 5.8). Changes nothing.

Revisions are given under the lock of the agent's memory, so revision order is commit order: a
reader who has seen one never later finds a new entry at or below it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from restante.coordination.entries import Entry
from restante.errors import CursorGone
from restante.identity.principal import Principal, Project
from restante.inbox.rules import PAGE_BYTES, PAGE_EXAMINED
from restante.storage.ids import Prefix, encode_id
from restante.storage.tables.memory import agent_memory, memory_entry

LEAST_EXAMINED = 200


@dataclass(frozen=True, slots=True)
class At:
    """Where an agent's memory is: the last revision given, the smallest not answered 410."""

    revision: int
    oldest: int


@dataclass(frozen=True, slots=True)
class Changes:
    """Entries in revision order. `revision` says how far this looked, even with no entry in it."""

    entries: list[Entry]
    revision: int
    has_more: bool


def memory_at(session: Session, agent_id: bytes) -> At:
    """Where an agent's memory is; nothing was ever written: 0."""
    row = session.connection().execute(_AT, {"agent": agent_id}).first()
    return At(0, 0) if row is None else At(row.memory_revision, row.oldest_revision)


def read_changes(
    session: Session,
    agent: Principal,
    projects: Sequence[Project],
    *,
    after_revision: int | None,
    limit: int,
) -> Changes:
    """What has changed after a revision, deletions as tombstones; None: from the oldest kept.

    Raises CursorGone. The floor is read again after the rows: it is raised before tombstones go.
    """
    first = memory_at(session, agent.id)
    check_revision(agent, first, after_revision)
    found = page(session, agent.id, projects, first, after=after_revision or 0, limit=limit)
    check_revision(agent, memory_at(session, agent.id), after_revision)
    return found


def page(
    session: Session,
    agent_id: bytes,
    projects: Sequence[Project],
    at: At,
    *,
    after: int,
    limit: int,
    live: bool = False,
) -> Changes:
    """Entries after a revision, at most `limit` or 4 MiB; `live`: no tombstones.

    It looks at twice as many, at least 200 and at most 2,000. What is written meanwhile has a higher
    revision than all that is looked at here.
    """
    slugs = {project.id: project.slug for project in projects}
    connection = session.connection()
    most = min(PAGE_EXAMINED, max(LEAST_EXAMINED, 2 * limit))
    rows = connection.execute(_LOOK, {"agent": agent_id, "after": after, "most": most + 1}).all()
    chosen: list[int] = []
    looked, size = after, 0
    for row in rows[:most]:
        if row.project_id in slugs and not (live and row.deleted_at is not None):
            size += row.value_bytes
            if len(chosen) == limit or (chosen and size > PAGE_BYTES):
                break
            chosen.append(row.revision)
        looked = row.revision
    has_more = bool(rows) and looked < rows[-1].revision
    entries = [
        Entry(slugs[row.project_id], row.entry_key, row.value, row.revision, row.updated_at)
        for row in (
            connection.execute(_ENTRIES, {"agent": agent_id, "revisions": chosen}) if chosen else ()
        )
    ]
    return Changes(entries, looked if has_more else max(looked, at.revision), has_more)


def check_revision(agent: Principal, at: At, after_revision: int | None) -> None:
    """CursorGone where deletions after this revision are forgotten, or it was never given."""
    reason = None
    if after_revision is not None and after_revision > at.revision:
        reason = "epoch"
    elif after_revision is not None and after_revision < at.oldest:
        reason = "retention"
    if reason is not None:
        raise CursorGone(
            "What was deleted after this revision is no longer known: fetch the state and go on from "
            "there.",
            reason=reason,
            oldest_revision=at.oldest,
            memory_revision=at.revision,
            state_url=f"/api/v1/agents/{encode_id(Prefix.AGENT, agent.id)}/state",
        )


_AT = select(agent_memory.c.memory_revision, agent_memory.c.oldest_revision).where(
    agent_memory.c.agent_id == bindparam("agent")
)
_LOOK = (
    select(
        memory_entry.c.revision,
        memory_entry.c.project_id,
        memory_entry.c.value_bytes,
        memory_entry.c.deleted_at,
    )
    .where(
        memory_entry.c.agent_id == bindparam("agent"), memory_entry.c.revision > bindparam("after")
    )
    .order_by(memory_entry.c.revision)
    .limit(bindparam("most"))
)
_ENTRIES: Any = (
    select(
        memory_entry.c.project_id,
        memory_entry.c.entry_key,
        memory_entry.c.value,
        memory_entry.c.revision,
        memory_entry.c.updated_at,
    )
    .where(
        memory_entry.c.agent_id == bindparam("agent"),
        memory_entry.c.revision.in_(bindparam("revisions", expanding=True)),
    )
    .order_by(memory_entry.c.revision)
)
