"""The scopes, as the document describes them (contract 4)."""

from __future__ import annotations

from restante.identity.scopes import TenantScope, Verb

_VERBS = {
    Verb.READ: "Read the own inbox, its statistics and receipts, and subscribe to it, in the project.",
    Verb.CLAIM: "Claim and settle events of the own inbox, in the project.",
    Verb.PUBLISH: "Publish events to agents that have the project.",
    Verb.MEMORY: "Write the memory of agents, in the project.",
    Verb.CALLBACK: "Register callbacks for the own inbox, in the project.",
}
_TENANT = {
    TenantScope.AGENTS_READ: "Read agents, services and projects.",
    TenantScope.AGENTS_WRITE: "Make and change agents, services and projects, and their credentials.",
    TenantScope.GRANTS_READ: "Read grants.",
    TenantScope.GRANTS_WRITE: "Change grants.",
    TenantScope.CALLBACKS_READ: "Read callbacks.",
    TenantScope.CALLBACKS_WRITE: "Approve, reject and suspend callbacks.",
    TenantScope.QUARANTINE_READ: "Read the quarantine.",
    TenantScope.QUARANTINE_WRITE: "Redrive and discard what is in quarantine.",
    TenantScope.EVENTS_READ: "Read receipts of every event of the tenant.",
    TenantScope.EVENTS_PUBLISH: "Publish in every project of the tenant.",
    TenantScope.EVENTS_CANCEL: "Cancel any event of the tenant.",
    TenantScope.MEMORY_WRITE: "Write the memory of every agent of the tenant.",
    TenantScope.AUDIT_READ: "Read the audit log.",
}

SCOPES: dict[str, str] = {
    **{f"agent:<project>:{verb}": text for verb, text in _VERBS.items()},
    **{scope.value: text for scope, text in _TENANT.items()},
}
