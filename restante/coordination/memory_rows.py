"""The rows of an agent's memory: locked by its one row, found, counted, written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import bindparam, func, insert, literal, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from restante.coordination.entries import Entry
from restante.storage.tables.memory import agent_memory, memory_entry
from restante.storage.transaction import Repeat

MOST_KEYS = 10_000
"""Keys of one agent in one project."""

Place = tuple[bytes, bytes]
"""Where a key stands in an agent's memory: its project, its hash."""


def lock(session: Session, tenant_id: bytes, agent_id: bytes) -> int:
    """Lock the agent's memory → the last revision given."""
    connection = session.connection()
    found = connection.execute(
        select(agent_memory.c.memory_revision)
        .where(agent_memory.c.agent_id == agent_id, agent_memory.c.tenant_id == tenant_id)
        .with_for_update()
    ).scalar()
    if found is not None:
        return int(found)
    try:
        connection.execute(
            insert(agent_memory),
            {"agent_id": agent_id, "tenant_id": tenant_id, "memory_revision": 0},
        )
    except IntegrityError as error:
        raise Repeat from error  # its first write, a moment ago: after that one, then
    return 0


def find(
    session: Session, agent_id: bytes, places: Collection[Place], *, values: bool
) -> dict[Place, Any]:
    """What is there of these, tombstones too; `values`: what they are as well."""
    columns: list[Any] = [
        memory_entry.c.project_id,
        memory_entry.c.key_hash,
        memory_entry.c.revision,
        memory_entry.c.deleted_at,
    ]
    if values:
        columns.append(memory_entry.c.value)
    # a locking read sees what is committed, in an application's REPEATABLE READ as well
    found = session.connection().execute(
        select(*columns)
        .where(
            memory_entry.c.agent_id == agent_id,
            memory_entry.c.project_id.in_(sorted({project for project, _ in places})),
            memory_entry.c.key_hash.in_(sorted({key for _, key in places})),
        )
        .with_for_update()
    )
    return {(row.project_id, row.key_hash): row for row in found}


def room(session: Session, agent_id: bytes, project_ids: Collection[bytes]) -> Counter[bytes]:
    """How many keys more each of these projects may get."""
    left: Counter[bytes] = Counter()
    for project_id in project_ids:
        keys = (
            select(literal(1).label("one"))
            .where(
                memory_entry.c.agent_id == agent_id,
                memory_entry.c.project_id == project_id,
                memory_entry.c.deleted_at.is_(None),
            )
            .limit(MOST_KEYS)
            .subquery()
        )
        there = session.connection().execute(select(func.count()).select_from(keys)).scalar_one()
        left[project_id] = MOST_KEYS - there
    return left


def save(
    session: Session,
    agent_id: bytes,
    written: Sequence[tuple[Place, Entry]],
    rows: Mapping[Place, Any],
    *,
    writer: str,
) -> None:
    """Write entries, the last of them with the highest version. `rows`: what is there."""
    new: list[dict[str, Any]] = []
    old: list[dict[str, Any]] = []
    for place, entry in written:
        project_id, key_hash = place
        columns = {
            "revision": entry.version,
            "value": entry.value,
            "value_bytes": len(entry.value or b""),
            "updated_at": entry.updated_at,
            "deleted_at": entry.updated_at if entry.value is None else None,
            "writer": writer,
        }
        if place in rows:
            of = {"of_agent": agent_id, "of_project": project_id, "of_key": key_hash}
            old.append(of | {f"new_{name}": value for name, value in columns.items()})
        else:
            of = {"agent_id": agent_id, "project_id": project_id, "key_hash": key_hash}
            new.append(of | {"entry_key": entry.key} | columns)
    connection = session.connection()
    if new:
        connection.execute(insert(memory_entry), new)
    if old:
        connection.execute(_REWRITE, old)
    connection.execute(
        update(agent_memory)
        .where(agent_memory.c.agent_id == agent_id)
        .values(memory_revision=written[-1][1].version)
    )


_COLUMNS = ("revision", "value", "value_bytes", "updated_at", "deleted_at", "writer")
_REWRITE = (
    update(memory_entry)
    .where(
        memory_entry.c.agent_id == bindparam("of_agent"),
        memory_entry.c.project_id == bindparam("of_project"),
        memory_entry.c.key_hash == bindparam("of_key"),
    )
    .values({name: bindparam(f"new_{name}") for name in _COLUMNS})
)
