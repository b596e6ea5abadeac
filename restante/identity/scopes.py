"""Scopes, as text and as what they cover. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

SLUG = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Verb(StrEnum):
    """What an `agent:<project>:<verb>` scope lets its holder do in the project."""

    READ = "read"
    CLAIM = "claim"
    PUBLISH = "publish"
    MEMORY = "memory"
    CALLBACK = "callback"


class TenantScope(StrEnum):
    """What a service may do in its tenant."""

    AGENTS_READ = "tenant:agents:read"
    AGENTS_WRITE = "tenant:agents:write"
    GRANTS_READ = "tenant:grants:read"
    GRANTS_WRITE = "tenant:grants:write"
    CALLBACKS_READ = "tenant:callbacks:read"
    CALLBACKS_WRITE = "tenant:callbacks:write"
    QUARANTINE_READ = "tenant:quarantine:read"
    QUARANTINE_WRITE = "tenant:quarantine:write"
    EVENTS_READ = "tenant:events:read"
    EVENTS_PUBLISH = "tenant:events:publish"
    EVENTS_CANCEL = "tenant:events:cancel"
    MEMORY_WRITE = "tenant:memory:write"
    AUDIT_READ = "tenant:audit:read"


@dataclass(frozen=True, slots=True)
class ProjectScope:
    """`agent:<project>:<verb>`; the project of a grant may be `*`, that of a token never is."""

    project: str
    verb: Verb

    def __str__(self) -> str:
        return f"agent:{self.project}:{self.verb}"


Scope = ProjectScope | TenantScope

_VERBS = frozenset(verb.value for verb in Verb)
_TENANT_SCOPES = frozenset(scope.value for scope in TenantScope)


def parse_scope(text: str) -> Scope | None:
    """The scope that a text names, or None."""
    if text in _TENANT_SCOPES:
        return TenantScope(text)
    parts = text.split(":")
    if len(parts) != 3 or parts[0] != "agent" or parts[2] not in _VERBS:
        return None
    if parts[1] != "*" and not SLUG.fullmatch(parts[1]):
        return None
    return ProjectScope(parts[1], Verb(parts[2]))


def covers(grant: Scope, scope: Scope) -> bool:
    """Whether a grant gives a scope. `*` in a grant stands for every project, and only there."""
    if isinstance(grant, ProjectScope) and isinstance(scope, ProjectScope):
        return (
            grant.verb == scope.verb
            and scope.project != "*"
            and grant.project in ("*", scope.project)
        )
    return grant == scope
