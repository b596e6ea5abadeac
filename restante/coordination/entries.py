"""An entry of memory as it is told (contract 5.8), what may be expected of one, and finding one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
from sqlalchemy import select
from sqlalchemy.orm import Session

from restante.errors import NotFound
from restante.identity.principal import Principal
from restante.identity.scopes import Verb
from restante.inbox.envelope import instant
from restante.inbox.publication import hash_key
from restante.storage.tables.memory import memory_entry


@dataclass(frozen=True, slots=True)
class Entry:
    """A key and what it is now. `version`: the memory revision of its last write.

    `value`: JSON's text as it was received; None: the key was deleted by that write.
    """

    project: str
    key: str
    value: bytes | None
    version: int
    updated_at: datetime

    def told(self) -> dict[str, Any]:
        """As JSON has it."""
        return {"value": orjson.Fragment(self.value or b"null"), **self.told_shortly()}

    def told_shortly(self) -> dict[str, Any]:
        """The same without the value."""
        return {
            "project": self.project,
            "key": self.key,
            "version": self.version,
            "memory_revision": self.version,
            "updated_at": instant(self.updated_at),
            "deleted": self.value is None,
        }


@dataclass(frozen=True, slots=True)
class Expect:
    """What a writer takes to be there: one of these versions, or something, or nothing."""

    versions: frozenset[int] = frozenset()
    present: bool | None = None

    def holds(self, version: int | None) -> bool:
        """Whether it is so; None: nothing is there."""
        if self.present is not None:
            return self.present is (version is not None)
        return version in self.versions


def read_entry(session: Session, agent: Principal, slug: str, key: str) -> Entry:
    """One key of the agent's memory. Raises InsufficientScope, NotFound."""
    project = agent.require(Verb.READ, slug)
    row = (
        session.connection()
        .execute(
            select(memory_entry.c.value, memory_entry.c.revision, memory_entry.c.updated_at).where(
                memory_entry.c.agent_id == agent.id,
                memory_entry.c.project_id == project.id,
                memory_entry.c.key_hash == hash_key(key),
            )
        )
        .first()
    )
    if row is None or row.value is None:
        raise NotFound
    return Entry(slug, key, row.value, row.revision, row.updated_at)
