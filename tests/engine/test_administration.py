"""The verbs that services and operators share: what an operator may by his role, and where from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy.orm import Session

from restante.audit.actions import ActorKind
from restante.audit.entries import Actor, Origin
from restante.audit.listing import list_entries
from restante.errors import RestanteError
from restante.identity.administrators import Administrator
from restante.identity.machine_list import MachineStatus
from restante.identity.machine_status import set_status
from restante.identity.principal import PrincipalKind
from restante.identity.project_settings import (
    OnQuarantine,
    add_project,
    change_project,
    list_projects,
)
from restante.identity.projects import projects_of
from restante.identity.roles import ProofTooOld, RightMissing, Role
from restante.identity.service_enrolment import enrol_service
from restante.identity.services import create_service
from restante.identity.tenant_settings import change_settings, read_settings
from restante.identity.tenants import create_tenant
from restante.storage.ids import Prefix, encode_id
from tests.support.databases import TestDatabase

BY = Origin(Actor(ActorKind.OPERATOR, "opr_1"), "192.0.2.7", "req-1")
SCOPES = ("tenant:events:publish", "agent:*:publish")
Verb = Callable[[Session, Administrator], Any]


@pytest.fixture
def tenant_id(database: TestDatabase) -> bytes:
    return database.run(lambda s: create_tenant(s, "acme", require_signatures=True)).id


def operator(tenant_id: bytes, role: Role, *, anew: bool = True) -> Administrator:
    return Administrator(tenant_id, BY, role=role, anew=anew)


def changes(tenant_id: bytes, database: TestDatabase) -> dict[str, Verb]:
    """One of each, that an administrator of the tenant may."""

    def make(session: Session) -> str:
        add_project(session, operator(tenant_id, Role.TENANT_ADMIN), "mail")
        made = create_service(session, tenant_id, name="old", scopes=["tenant:audit:read"])
        return encode_id(Prefix.SERVICE, made.id)

    service_id = database.run(make)
    return {
        "project": lambda s, who: add_project(s, who, "late"),
        "on_quarantine": lambda s, who: change_project(
            s, who, "mail", {"on_quarantine": OnQuarantine.HOLD}
        ),
        "tenant": lambda s, who: change_settings(s, who, {"max_pending": 7}),
        "read tenant": read_settings,
        "service": lambda s, who: enrol_service(s, who, name="ci", scopes=SCOPES),
        "disable": lambda s, who: set_status(
            s, who, PrincipalKind.SERVICE, service_id, MachineStatus.DISABLED
        ),
    }


def entries(database: TestDatabase, tenant_id: bytes) -> list[tuple[str, str | None, str | None]]:
    page = database.run(lambda s: list_entries(s, tenant_id, limit=100))
    return [(e.action, e.actor_id, e.address) for e in page.entries]


def refusal(database: TestDatabase, verb: Verb, who: Administrator) -> type[RestanteError]:
    with pytest.raises(RestanteError) as caught:
        database.run(lambda s: verb(s, who))
    return caught.type


def test_an_operator_sees_projects_and_changes_nothing(
    database: TestDatabase, tenant_id: bytes
) -> None:
    verbs = changes(tenant_id, database)
    before = entries(database, tenant_id)
    for role in (Role.OPERATOR, Role.PLATFORM_ADMIN):
        for name, verb in verbs.items():
            assert refusal(database, verb, operator(tenant_id, role)) is RightMissing, name
    assert entries(database, tenant_id) == before
    assert database.run(lambda s: projects_of(s, tenant_id)).keys() == {"mail"}
    page = database.run(
        lambda s: list_projects(s, operator(tenant_id, Role.OPERATOR, anew=False), limit=10)
    )
    assert [project.slug for project in page.projects] == ["mail"]


def test_an_administrator_of_the_tenant_may_all_and_the_audit_says_that_it_was_he(
    database: TestDatabase, tenant_id: bytes
) -> None:
    verbs = changes(tenant_id, database)
    before = len(entries(database, tenant_id))
    for verb in verbs.values():
        database.run(lambda s, v=verb: v(s, operator(tenant_id, Role.TENANT_ADMIN)))
    made = entries(database, tenant_id)[:-before]
    assert [action for action, _, _ in reversed(made)] == [
        *("project.create", "project.update", "tenant.update"),
        *("service.create", "grant.assign", "service.disable"),
    ]
    assert {(who, address) for _, who, address in made} == {("opr_1", "192.0.2.7")}


def test_to_give_scopes_he_proves_anew_who_he_is(database: TestDatabase, tenant_id: bytes) -> None:
    verbs = changes(tenant_id, database)
    who = operator(tenant_id, Role.TENANT_ADMIN, anew=False)
    assert refusal(database, verbs.pop("service"), who) is ProofTooOld
    for verb in verbs.values():
        database.run(lambda s, v=verb: v(s, who))
