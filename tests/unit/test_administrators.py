"""Whether a service or an operator may: one table for both."""

from __future__ import annotations

import pytest

from restante.audit.entries import IN_PROCESS
from restante.errors import InsufficientScope
from restante.identity.administrators import Administrator
from restante.identity.operators import Operator, OperatorStatus
from restante.identity.principal import Principal, PrincipalKind
from restante.identity.roles import (
    RULES,
    ProofTooOld,
    Right,
    RightMissing,
    Role,
    may,
    scopes_of,
)
from restante.identity.scopes import ProjectScope, Scope, TenantScope, Verb

TENANT = bytes(16)
READ = ProjectScope("p", Verb.READ)


def service(*scopes: Scope) -> Administrator:
    made = Principal(TENANT, PrincipalKind.SERVICE, bytes(16), "s", frozenset(scopes), {})
    return Administrator.of_service(made, IN_PROCESS)


def operator(role: Role, *, anew: bool = True, tenant: bytes | None = TENANT) -> Administrator:
    made = Operator(bytes(16), tenant, None, "o@example.com", role, OperatorStatus.ACTIVE)
    return Administrator.of_operator(made, IN_PROCESS, anew=anew)


@pytest.mark.parametrize("right", list(Right))
def test_a_service_needs_the_scope_of_the_rule(right: Right) -> None:
    enough = scopes_of(right)
    for scope in TenantScope:
        if scope in enough:
            service(scope).require(right)
            continue
        with pytest.raises(InsufficientScope) as refused:
            service(scope, READ).require(right)
        if enough:
            assert refused.value.members["required_scope"] == RULES[right].scope


@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize("right", list(Right))
def test_an_operator_needs_a_role_of_the_rule(right: Right, role: Role) -> None:
    if role is Role.PLATFORM_ADMIN:
        with pytest.raises(RightMissing):
            operator(role, tenant=None)
        return
    if not may(role, right):
        with pytest.raises(RightMissing):
            operator(role).require(right)
        return
    operator(role).require(right)
    if RULES[right].anew:
        with pytest.raises(ProofTooOld):
            operator(role, anew=False).require(right)
    else:
        operator(role, anew=False).require(right)


def test_who_may_write_may_read() -> None:
    assert scopes_of(Right.AGENTS_READ) == (TenantScope.AGENTS_READ, TenantScope.AGENTS_WRITE)
    assert scopes_of(Right.AGENTS_WRITE) == (TenantScope.AGENTS_WRITE,)
    assert scopes_of(Right.AUDIT_READ) == (TenantScope.AUDIT_READ,)
    assert scopes_of(Right.OPERATORS_WRITE) == ()


def test_any_one_of_several_is_enough() -> None:
    service(TenantScope.GRANTS_READ).require(Right.GRANTS_READ, Right.AGENTS_READ)
    service(TenantScope.AGENTS_READ).require(Right.GRANTS_READ, Right.AGENTS_READ)
    # one that need not be proved anew is enough as well
    operator(Role.TENANT_ADMIN, anew=False).require(Right.GRANTS_WRITE, Right.AGENTS_READ)


def wanting(who: Administrator, *scopes: Scope) -> tuple[str | None, str | None]:
    """The scope that is wanting to give these, and to be one who has them."""
    found: list[str | None] = []
    for check in (who.require_to_give, who.require_to_be):
        try:
            check(scopes)
        except InsufficientScope as refused:
            found.append(refused.members["required_scope"])
        else:
            found.append(None)
    return found[0], found[1]


def test_nobody_gives_a_tenant_scope_that_he_has_not() -> None:
    granting, redrive = TenantScope.GRANTS_WRITE, TenantScope.QUARANTINE_WRITE
    assert wanting(service()) == (None, None)
    assert wanting(service(), READ) == (granting, granting)
    assert wanting(service(granting), READ) == (None, None)
    assert wanting(service(granting), READ, redrive) == (redrive, redrive)
    assert wanting(service(granting, redrive), READ, redrive) == (None, None)
    # what he has he may not give on by himself, but it is no more to be another who has it
    assert wanting(service(redrive), redrive) == (granting, None)
    assert wanting(service(READ), READ) == (granting, None)
    # an administrator of the tenant has the right itself
    operator(Role.TENANT_ADMIN).require_to_be([READ, redrive])
    with pytest.raises(RightMissing):
        operator(Role.OPERATOR).require_to_be([READ])
    with pytest.raises(ProofTooOld):
        operator(Role.TENANT_ADMIN, anew=False).require_to_give([redrive])
