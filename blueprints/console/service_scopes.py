"""What the scopes of services mean, in words, and those that a form names."""

from __future__ import annotations

from collections.abc import Mapping

from werkzeug.datastructures import MultiDict

from restante.identity.scopes import TenantScope

WORDS: Mapping[TenantScope, str] = {
    TenantScope.EVENTS_PUBLISH: "publish to every agent, in every project",
    TenantScope.EVENTS_READ: "see what became of every event",
    TenantScope.EVENTS_CANCEL: "cancel events",
    TenantScope.MEMORY_WRITE: "write the memory of every agent",
    TenantScope.AGENTS_READ: "see agents, services, projects and credentials, never a secret",
    TenantScope.AGENTS_WRITE: "make and change agents, services, projects and settings",
    TenantScope.GRANTS_READ: "see what agents may do",
    TenantScope.GRANTS_WRITE: "assign what agents may do",
    TenantScope.CALLBACKS_READ: "see callbacks",
    TenantScope.CALLBACKS_WRITE: "approve, reject and suspend callbacks",
    TenantScope.QUARANTINE_READ: "see quarantined events, payloads too",
    TenantScope.QUARANTINE_WRITE: "redrive, amend and discard quarantined events",
    TenantScope.AUDIT_READ: "read the audit",
}
"""What producers need first."""
GROUPS = {
    "Events and memory": ("events", "memory"),
    "Agents and scopes": ("agents", "grants"),
    "Callbacks": ("callbacks",),
    "Quarantine and audit": ("quarantine", "audit"),
}
FAR = (TenantScope.AGENTS_WRITE, TenantScope.GRANTS_WRITE)
"""Whoever has one of these changes what others are and may do."""


def grouped() -> dict[str, list[tuple[TenantScope, str]]]:
    """By what they are about → (scope, words), as a form shows them."""
    return {
        title: [(scope, words) for scope, words in WORDS.items() if scope.split(":")[1] in parts]
        for title, parts in GROUPS.items()
    }


def meaning_of(scope: str) -> str:
    """Of a scope as it is written; nothing where it explains itself."""
    return next((words for known, words in WORDS.items() if known.value == scope), "")


def scopes_in(form: MultiDict[str, str]) -> list[str]:
    """Those ticked, then those typed one a line, as they are written."""
    typed = form.get("more", "").split()
    return list(dict.fromkeys([*form.getlist("scope"), *typed]))
