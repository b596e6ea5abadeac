"""The services of the tenant."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from blueprints import examples
from blueprints.admin.blueprint import admin, administrator, having
from blueprints.admin.machines import (
    SECRET,
    TAG,
    Grants,
    MachinesQuery,
    Name,
    Status,
    listed,
    made_of,
    state_endpoint,
)
from blueprints.calls import Call, Reply
from blueprints.endpoint import Endpoint
from blueprints.fields import Answer, Body
from blueprints.idempotency import refuse_key
from blueprints.shapes import WireInstant
from restante.errors import PageTokenInvalid
from restante.identity.grants import grants_of
from restante.identity.machine_list import Machine, MachineStatus, read_machine
from restante.identity.machine_status import set_status
from restante.identity.principal import PrincipalKind
from restante.identity.roles import Right
from restante.identity.service_enrolment import enrol_service
from restante.inbox.envelope import instant
from restante.storage.transaction import Session


class ServiceBody(Body):
    """What it is called, and what it may do."""

    name: Name
    scopes: Annotated[Grants, Field(min_length=1)]


class NewService(Answer):
    """The service, and its secret, this once."""

    service_id: str
    client_id: str
    client_secret: str


class ServiceRow(Answer):
    """A service of the tenant."""

    service_id: str
    name: str
    status: Status
    created_at: WireInstant


class Service(ServiceRow):
    """A service of the tenant, with what it may do."""

    scopes: list[str]


class Services(Answer):
    """A page of services, by name."""

    services: list[ServiceRow]
    next_page_token: str | None


_ROW: dict[str, Any] = {
    "service_id": examples.SERVICE_ID,
    "name": "ci",
    "status": "active",
    "created_at": examples.CREATED_AT,
}


@Endpoint(
    method="POST",
    access=having(Right.AGENTS_WRITE),
    tag=TAG,
    summary="Create a service",
    description="A producer or an administrator without an inbox. It takes `tenant:grants:write` besides, "
    "and a service gives another one only scopes that its own token holds, so that none raises itself "
    "through one it makes; an operator may give all. No Idempotency-Key: the answer is a secret that is "
    "not kept. A name that a service of the tenant has is 422: read `/services?name=` to see whether a call "
    "whose answer was lost has made it.",
    body=ServiceBody,
    examples={"a producer": {"name": "ci", "scopes": ["tenant:events:publish"]}},
    answer=NewService,
    answer_examples={
        "made": {
            "service_id": examples.SERVICE_ID,
            "client_id": examples.SERVICE_ID,
            "client_secret": SECRET,
        }
    },
    status=201,
).route(admin, "/services")
def create_one_service(session: Session, call: Call) -> Reply:
    """A new one."""
    refuse_key(call)
    made = enrol_service(session, administrator(call), name=call.body.name, scopes=call.body.scopes)
    return made_of(PrincipalKind.SERVICE, made)


@Endpoint(
    method="GET",
    access=having(Right.AGENTS_READ),
    tag=TAG,
    summary="List services",
    description="The services of the tenant, by name.",
    query=MachinesQuery,
    answer=Services,
    answer_examples={"one": {"services": [_ROW], "next_page_token": None}},
    problems=(PageTokenInvalid,),
).route(admin, "/services")
def list_services(session: Session, call: Call) -> Reply:
    """A page of them."""
    return listed(session, call, PrincipalKind.SERVICE, shown)


@Endpoint(
    method="GET",
    access=having(Right.AGENTS_READ),
    tag=TAG,
    summary="Read a service",
    description="What it is and what it may do.",
    answer=Service,
    answer_examples={"one": {**_ROW, "scopes": ["tenant:events:publish"]}},
).route(admin, "/services/<service_id>")
def read_service(session: Session, call: Call) -> Reply:
    """One."""
    found = read_machine(
        session, administrator(call), PrincipalKind.SERVICE, call.path["service_id"]
    )
    scopes = sorted(map(str, grants_of(session, found.id)))
    return Reply({**shown(found), "scopes": scopes})


def _status_endpoint(summary: str, description: str, example: str) -> Endpoint:
    row = {**_ROW, "status": example}
    return state_endpoint(summary, description, answer=ServiceRow, example=row)


@_status_endpoint(
    "Disable a service", "Its tokens stop, and it gets no new ones.", "disabled"
).route(admin, "/services/<service_id>/disable")
def disable_service(session: Session, call: Call) -> Reply:
    """Until it is enabled."""
    return _set(session, call, MachineStatus.DISABLED)


@_status_endpoint(
    "Enable a service", "It gets tokens again, with the credentials and scopes it had.", "active"
).route(admin, "/services/<service_id>/enable")
def enable_service(session: Session, call: Call) -> Reply:
    """Again."""
    return _set(session, call, MachineStatus.ACTIVE)


@_status_endpoint(
    "Remove a service",
    "For good: its credentials and scopes end. Its name stays taken, since events name it.",
    "removed",
).route(admin, "/services/<service_id>/remove")
def remove_service(session: Session, call: Call) -> Reply:
    """For good."""
    return _set(session, call, MachineStatus.REMOVED)


def _set(session: Session, call: Call, status: MachineStatus) -> Reply:
    changed = set_status(
        session, administrator(call), PrincipalKind.SERVICE, call.path["service_id"], status
    )
    return Reply(shown(changed))


def shown(service: Machine) -> dict[str, Any]:
    """As it is answered."""
    return {
        "service_id": service.public_id,
        "name": service.name,
        "status": service.status,
        "created_at": instant(service.created_at),
    }
