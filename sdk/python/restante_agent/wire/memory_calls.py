"""Calls of memory: contract 5.8. `agent_id` names whose, where it is not the client's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from restante_agent.model.memory import MemoryChanges, MemoryEntry
from restante_agent.wire.call import Call, query, reader, segment
from restante_agent.wire.core import Core
from restante_agent.wire.step import Request


def memory_get(core: Core, project: str, key: str) -> Call[MemoryEntry]:
    """One key of the own memory. NotFound: there is none."""
    return Call(Request(method="GET", path=_path(core, None, project, key)), reader(MemoryEntry))


def memory_put(
    core: Core,
    project: str,
    key: str,
    value: Any,
    *,
    if_version: int | None = None,
    agent_id: str | None = None,
    notify: bool = False,
) -> Call[MemoryEntry]:
    """Set a key to any JSON value; None is null, and not a deletion.

    `if_version`: only if the key is at it (0: only if it is not there), else VersionConflict. After
    a lost answer the version that is met may be the own one: read it. `notify`: have an event tell
    the agent, which otherwise tells it of others' writes alone.
    """
    body = {"value": value}
    return _write(core, "PUT", project, key, if_version, agent_id, notify=notify, body=body)


def memory_patch(
    core: Core,
    project: str,
    key: str,
    merge: Mapping[str, Any],
    *,
    if_version: int | None = None,
    agent_id: str | None = None,
    notify: bool = False,
) -> Call[MemoryEntry]:
    """Merge a patch into a key (RFC 7396): members set, None takes one away."""
    body = {"merge": merge}
    return _write(core, "PATCH", project, key, if_version, agent_id, notify=notify, body=body)


def memory_delete(
    core: Core,
    project: str,
    key: str,
    *,
    if_version: int | None = None,
    agent_id: str | None = None,
    notify: bool = False,
) -> Call[MemoryEntry]:
    """Take a key away. NotFound: it is not there."""
    return _write(core, "DELETE", project, key, if_version, agent_id, notify=notify)


def memory_list(
    core: Core,
    after_revision: int | None = None,
    *,
    limit: int | None = None,
    projects: Sequence[str] | None = None,
) -> Call[MemoryChanges]:
    """The keys that changed after a revision, deletions among them.

    Raises RevisionGone when that is no longer known: fetch the state.
    """
    found = query(after_revision=after_revision, limit=limit, projects=projects)
    request = Request(method="GET", path=f"{core.agent_path}/memory", query=found)
    return Call(request, reader(MemoryChanges))


def _write(
    core: Core,
    method: str,
    project: str,
    key: str,
    if_version: int | None,
    agent_id: str | None,
    *,
    notify: bool,
    body: Mapping[str, Any] | None = None,
) -> Call[MemoryEntry]:
    headers: dict[str, str] = {}
    if if_version is not None:
        headers = {"if-match": f'"{if_version}"'} if if_version else {"if-none-match": "*"}
    request = Request(
        method=method,
        path=_path(core, agent_id, project, key),
        query=(("notify", "true"),) if notify else (),
        body=body,
        headers=headers,
        scope=f"agent:{project}:memory",
    )
    return Call(request, reader(MemoryEntry))


def _path(core: Core, agent_id: str | None, project: str, key: str) -> str:
    owner = (
        core.agent_path if agent_id is None else f"/api/v1/agents/{segment(agent_id, 'agent_id')}"
    )
    return f"{owner}/memory/{segment(project, 'project')}/{segment(key, 'key')}"
