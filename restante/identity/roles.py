"""What operators may do (contract section 4), once, as data: console, API and docs/roles.md are made of it.

Pure. A right of the tenant is one of the operator's own tenant and of no other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from restante.errors import RestanteError
from restante.identity.scopes import TenantScope


class Role(StrEnum):
    """What an operator is; he is one thing."""

    OPERATOR = "operator"
    TENANT_ADMIN = "tenant_admin"
    PLATFORM_ADMIN = "platform_admin"


class Right(StrEnum):
    """Something that a role may or may not do."""

    AGENTS_READ = "agents.read"
    EVENTS_READ = "events.read"
    PAYLOADS_WHOLE = "payloads.whole"
    QUARANTINE_READ = "quarantine.read"
    EVENTS_REDRIVE = "events.redrive"
    EVENTS_DISCARD = "events.discard"
    EVENTS_CANCEL = "events.cancel"
    ASSIGNMENTS_REASSIGN = "assignments.reassign"
    DEVICES_APPROVE = "devices.approve"
    CALLBACKS_READ = "callbacks.read"
    AUDIT_READ = "audit.read"
    GRANTS_READ = "grants.read"
    AGENTS_WRITE = "agents.write"
    GRANTS_WRITE = "grants.write"
    CREDENTIALS_WRITE = "credentials.write"
    CALLBACKS_WRITE = "callbacks.write"
    OPERATORS_READ = "operators.read"
    OPERATORS_WRITE = "operators.write"
    SETTINGS_WRITE = "settings.write"
    TENANTS_READ = "tenants.read"
    TENANTS_WRITE = "tenants.write"
    PLATFORM_AUDIT_READ = "platform_audit.read"


@dataclass(frozen=True, slots=True)
class Rule:
    """Who has a right, and what it is. `anew`: only within minutes of proving anew who one is.

    `scope`: what a service needs for the same through the API; None: no service may.
    """

    meaning: str
    roles: frozenset[Role]
    anew: bool = False
    scope: TenantScope | None = None


class RightMissing(RestanteError):
    """Your role does not include this."""


class ProofTooOld(RestanteError):
    """This needs a fresh proof of who you are: sign in again, then repeat it."""


_ALL_OF_TENANT = frozenset({Role.OPERATOR, Role.TENANT_ADMIN})
_ADMIN = frozenset({Role.TENANT_ADMIN})
_PLATFORM = frozenset({Role.PLATFORM_ADMIN})

RULES: Mapping[Right, Rule] = {
    Right.AGENTS_READ: Rule(
        "see agents, services, projects and grants", _ALL_OF_TENANT, scope=TenantScope.AGENTS_READ
    ),
    Right.EVENTS_READ: Rule(
        "see inboxes and events, payloads too", _ALL_OF_TENANT, scope=TenantScope.EVENTS_READ
    ),
    Right.PAYLOADS_WHOLE: Rule("see of payloads what the tenant has redacted", _ADMIN),
    Right.QUARANTINE_READ: Rule(
        "see quarantined events, payloads too", _ALL_OF_TENANT, scope=TenantScope.QUARANTINE_READ
    ),
    Right.EVENTS_REDRIVE: Rule(
        "put quarantined events back, as they are or amended; publish expired ones anew",
        _ALL_OF_TENANT,
        scope=TenantScope.QUARANTINE_WRITE,
    ),
    Right.EVENTS_DISCARD: Rule(
        "discard quarantined events", _ALL_OF_TENANT, scope=TenantScope.QUARANTINE_WRITE
    ),
    Right.EVENTS_CANCEL: Rule("cancel events", _ALL_OF_TENANT, scope=TenantScope.EVENTS_CANCEL),
    Right.ASSIGNMENTS_REASSIGN: Rule(
        "take work from an agent, or from nobody, and give it to another (a service needs "
        "`tenant:events:cancel` as well)",
        _ALL_OF_TENANT,
        scope=TenantScope.EVENTS_PUBLISH,
    ),
    Right.DEVICES_APPROVE: Rule("approve or refuse the login of an agent's device", _ALL_OF_TENANT),
    Right.CALLBACKS_READ: Rule(
        "see callbacks and their deliveries", _ALL_OF_TENANT, scope=TenantScope.CALLBACKS_READ
    ),
    Right.AUDIT_READ: Rule("read the tenant's audit", _ALL_OF_TENANT, scope=TenantScope.AUDIT_READ),
    Right.GRANTS_READ: Rule(
        "see what agents may do, and no more", _ALL_OF_TENANT, scope=TenantScope.GRANTS_READ
    ),
    Right.AGENTS_WRITE: Rule(
        "create, disable, remove, pause and change agents, services and projects",
        _ADMIN,
        scope=TenantScope.AGENTS_WRITE,
    ),
    Right.GRANTS_WRITE: Rule(
        "assign what agents and services may do", _ADMIN, anew=True, scope=TenantScope.GRANTS_WRITE
    ),
    Right.CREDENTIALS_WRITE: Rule(
        "make and revoke credentials", _ADMIN, anew=True, scope=TenantScope.AGENTS_WRITE
    ),
    Right.CALLBACKS_WRITE: Rule(
        "approve, reject, suspend, resume and challenge callbacks, and change their secrets",
        _ADMIN,
        anew=True,
        scope=TenantScope.CALLBACKS_WRITE,
    ),
    Right.OPERATORS_READ: Rule("see the operators of the tenant and their sessions", _ADMIN),
    Right.OPERATORS_WRITE: Rule(
        "invite, disable, enable and change operators of the tenant, and end their sessions",
        _ADMIN,
        anew=True,
    ),
    Right.SETTINGS_WRITE: Rule(
        "change the settings of the tenant", _ADMIN, scope=TenantScope.AGENTS_WRITE
    ),
    Right.TENANTS_READ: Rule("see which tenants there are, and how large they are", _PLATFORM),
    Right.TENANTS_WRITE: Rule("create tenants", _PLATFORM, anew=True),
    Right.PLATFORM_AUDIT_READ: Rule("read the audit of the platform", _PLATFORM),
}


def scopes_of(right: Right) -> tuple[TenantScope, ...]:
    """Those of which a service needs one: its rule's, and to read also the one to write the same."""
    scope = RULES[right].scope
    if scope is None:
        return ()
    writing = scope.value.removesuffix(":read") + ":write"
    return (scope, TenantScope(writing)) if writing in _SCOPES else (scope,)


_SCOPES = frozenset(TenantScope)


def may(role: Role, right: Right) -> bool:
    """Whether the role includes the right."""
    return role in RULES[right].roles


def require(role: Role, right: Right) -> None:
    """RightMissing where it does not."""
    if not may(role, right):
        raise missing(right)


def missing(right: Right) -> RightMissing:
    """What is said to whose role has it not: which role it takes."""
    rule = RULES[right]
    roles = " or ".join(role.replace("_", " ") for role in Role if role in rule.roles)
    return RightMissing(f"To {rule.meaning} takes the role {roles}.")


def as_table() -> str:
    """The table of docs/roles.md."""
    head = ["right", "means", *(f"`{role}`" for role in Role), "prove anew", "scope of a service"]
    rows = [
        [
            f"`{right}`",
            rule.meaning,
            *("yes" if role in rule.roles else "" for role in Role),
            "yes" if rule.anew else "",
            f"`{rule.scope}`" if rule.scope else "",
        ]
        for right, rule in RULES.items()
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows])
