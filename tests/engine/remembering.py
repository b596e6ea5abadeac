"""Writing and reading memory in tests, each call a unit of work of its own."""

from __future__ import annotations

from typing import Any

import orjson

from restante.coordination.changes import Changes, read_changes
from restante.coordination.entries import Entry, Expect, read_entry
from restante.coordination.memory import Delete, Merge, Put, Write, writable, write_one
from restante.coordination.state import State, read_state
from restante.coordination.tombstones import (
    agents_with_old_tombstones,
    forget_tombstones,
    raise_memory_floor,
)
from restante.identity.principal import Principal, PrincipalKind
from restante.identity.scopes import ProjectScope, TenantScope, Verb
from tests.factories import Mailbox, Tenant

ALL = (Verb.READ, Verb.CLAIM, Verb.PUBLISH, Verb.MEMORY)


def keeper(tenant: Tenant, *slugs: str) -> Mailbox:
    """An agent with every verb of this in these projects, all of them unless named."""
    return tenant.agent(*slugs, verbs=ALL)


def scribe(tenant: Tenant) -> Principal:
    """A service that writes every memory."""
    return tenant.principal(PrincipalKind.SERVICE, [TenantScope.MEMORY_WRITE])


def writer_in(tenant: Tenant, slug: str) -> Principal:
    """Another agent that may write memory in a project, and nothing else."""
    return tenant.principal(PrincipalKind.AGENT, [ProjectScope(slug, Verb.MEMORY)])


def version(number: int) -> Expect:
    return Expect(frozenset({number}))


def put(mail: Mailbox, key: str, value: Any = 1, **told: Any) -> Entry:
    """A value of Python's, or JSON's text."""
    text = value if isinstance(value, bytes) else orjson.dumps(value)
    return write(mail, key, Put(text), **told)


def delete(mail: Mailbox, key: str, **told: Any) -> Entry:
    return write(mail, key, Delete(), **told)


def merge(mail: Mailbox, key: str, patch: Any, **told: Any) -> Entry:
    return write(mail, key, Merge(orjson.dumps(patch)), **told)


def write(
    mail: Mailbox,
    key: str,
    change: Put | Merge | Delete,
    *,
    by: Principal | None = None,
    project: str = "p",
    expect: Expect | None = None,
    notify: bool = False,
) -> Entry:
    writer = by or mail.agent
    asked = Write(project=writable(writer, project), key=key, change=change, expect=expect)
    return mail.run(lambda s: write_one(s, writer, mail.id, asked, notify=notify))


def get(mail: Mailbox, key: str, project: str = "p") -> Entry:
    return mail.run(lambda s: read_entry(s, mail.agent, project, key))


def since(mail: Mailbox, revision: int | None = None, *slugs: str, limit: int = 1000) -> Changes:
    projects = [p for p in mail.agent.require_any(Verb.READ) if not slugs or p.slug in slugs]
    return mail.run(
        lambda s: read_changes(s, mail.agent, projects, after_revision=revision, limit=limit)
    )


def state(mail: Mailbox, token: str | None = None, *, limit: int = 1000) -> State:
    return mail.run(lambda s: read_state(s, mail.agent, limit=limit, token=token))


def forget(mail: Mailbox) -> int:
    """Retention of the tombstones of all agents → how many went."""
    gone = 0
    for agent_id in mail.run(lambda s: agents_with_old_tombstones(s, limit=100)):
        mail.run(lambda s, a=agent_id: raise_memory_floor(s, a))
        gone += mail.run(lambda s, a=agent_id: forget_tombstones(s, a))
    return gone


def told(entries: list[Entry]) -> list[tuple[str, bytes | None, int]]:
    return [(entry.key, entry.value, entry.version) for entry in entries]
