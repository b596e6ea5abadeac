"""Who administers a tenant: a service by the scopes of its token, or an operator by his role.

API and console hand verbs the same value, and `require` is where both are decided by the one table.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from restante.audit.entries import Origin
from restante.errors import InsufficientScope
from restante.identity.operators import Operator
from restante.identity.principal import Principal
from restante.identity.roles import (
    RULES,
    ProofTooOld,
    Right,
    RightMissing,
    Role,
    missing,
    scopes_of,
)
from restante.identity.scopes import Scope, TenantScope


@dataclass(frozen=True, slots=True)
class Administrator:
    """`by`: what the audit says of him. `anew`: an operator who has just proved again who he is."""

    tenant_id: bytes
    by: Origin
    scopes: frozenset[Scope] = frozenset()
    role: Role | None = None
    anew: bool = False

    @classmethod
    def of_service(cls, principal: Principal, by: Origin) -> Administrator:
        """A service, by its token."""
        return cls(principal.tenant_id, by, scopes=principal.scopes)

    @classmethod
    def of_operator(cls, operator: Operator, by: Origin, *, anew: bool) -> Administrator:
        """An operator in his own tenant; RightMissing for one of the platform, who has none."""
        if operator.tenant_id is None:
            raise RightMissing
        return cls(operator.tenant_id, by, role=operator.role, anew=anew)

    def require(self, *rights: Right) -> None:
        """Any one of these is enough.

        Raises InsufficientScope (a service), RightMissing (an operator) and ProofTooOld (an operator
        who has the right once he proves anew who he is).
        """
        if self.role is None:
            scopes = [scope for right in rights for scope in scopes_of(right)]
            if self.scopes.isdisjoint(scopes):
                raise InsufficientScope(scopes[0] if scopes else "none: no service may")
            return
        held = [RULES[right] for right in rights if self.role in RULES[right].roles]
        if not held:
            raise missing(rights[0])
        if not self.anew and all(rule.anew for rule in held):
            raise ProofTooOld

    def require_to_give(self, scopes: Collection[Scope]) -> None:
        """What giving these takes, be it as grants or as a secret of one who holds them.

        The right to assign grants; and a service gives no `tenant:` scope that it has not itself, so
        that it cannot raise itself through another. InsufficientScope names what is wanting.
        """
        if not scopes:
            return
        self.require(Right.GRANTS_WRITE)
        if self.role is None:
            tenant = {scope for scope in scopes if isinstance(scope, TenantScope)}
            for missing in sorted(tenant - self.scopes):
                raise InsufficientScope(missing)

    def require_to_be(self, scopes: Collection[Scope]) -> None:
        """What making a credential of one with these scopes takes: whoever makes it may be that one.

        Nothing more for what he holds himself, else what giving it takes.
        """
        self.require_to_give(frozenset(scopes) - self.scopes)
