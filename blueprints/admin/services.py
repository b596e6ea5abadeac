"""The services of the tenant."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from blueprints import examples
from blueprints.admin.blueprint import ListQuery, admin, administrator, having
from blueprints.calls import Call, Reply
from blueprints.endpoint import Endpoint
from blueprints.fields import Answer, Body
from blueprints.idempotency import refuse_key
from blueprints.shapes import WireInstant
from restante.errors import PageTokenInvalid
from restante.identity.grants import MOST_GRANTS, grants_of
from restante.identity.machine_list import Machine, MachineStatus, list_machines, read_machine
from restante.identity.machine_status import set_status
from restante.identity.names import NAME_LENGTH
from restante.identity.principal import PrincipalKind
from restante.identity.roles import Right
from restante.identity.service_enrolment import enrol_service
from restante.inbox.envelope import instant
from restante.storage.ids import Prefix, encode_id
from restante.storage.transaction import Session

TAG = "Administration"
_Status = Literal["active", "disabled", "removed"]


class ServiceBody(Body):
    """What it is called, and what it may do."""

    name: Annotated[str, Field(min_length=1, max_length=NAME_LENGTH)]
    scopes: Annotated[
        list[Annotated[str, Field(max_length=96)]], Field(min_length=1, max_length=MOST_GRANTS)
    ]


class NoBody(Body):
    """Nothing need be said."""


class NewService(Answer):
    """The service, and its secret, this once."""

    service_id: str
    client_id: str
    client_secret: str


class ServiceRow(Answer):
    """A service of the tenant."""

    service_id: str
    name: str
    status: _Status
    created_at: WireInstant


class Service(ServiceRow):
    """A service of the tenant, with what it may do."""

    scopes: list[str]


class Services(Answer):
    """A page of services, by name."""

    services: list[ServiceRow]
    next_page_token: str | None


class ServicesQuery(ListQuery):
    """Which services."""

    status: _Status | None = Field(default=None, description="Left out: all that are not removed.")
    name: Annotated[str, Field(max_length=NAME_LENGTH)] | None = Field(
        default=None, description="The one of exactly this name."
    )


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
            "client_secret": "rst_h3Zk8Wm1Qx5vT9bN2cR7yLp4Ds6Ff0Gj-aEiOuKqVMs",
        }
    },
    status=201,
).route(admin, "/services")
def create_one_service(session: Session, call: Call) -> Reply:
    """A new one."""
    refuse_key(call)
    made = enrol_service(session, administrator(call), name=call.body.name, scopes=call.body.scopes)
    service_id = encode_id(Prefix.SERVICE, made.id)
    told = {
        "service_id": service_id,
        "client_id": service_id,
        "client_secret": made.client_secret,
    }
    return Reply(told, 201)


@Endpoint(
    method="GET",
    access=having(Right.AGENTS_READ),
    tag=TAG,
    summary="List services",
    description="The services of the tenant, by name.",
    query=ServicesQuery,
    answer=Services,
    answer_examples={"one": {"services": [_ROW], "next_page_token": None}},
    problems=(PageTokenInvalid,),
).route(admin, "/services")
def list_services(session: Session, call: Call) -> Reply:
    """A page of them."""
    asked: ServicesQuery = call.query
    page = list_machines(
        session,
        administrator(call),
        PrincipalKind.SERVICE,
        limit=asked.limit,
        token=asked.page_token,
        status=None if asked.status is None else MachineStatus(asked.status),
        name=asked.name,
    )
    return Reply(
        {"services": list(map(shown, page.machines)), "next_page_token": page.next_page_token}
    )


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
    return Endpoint(
        method="POST",
        access=having(Right.AGENTS_WRITE),
        tag=TAG,
        summary=summary,
        description=f"{description} Every server goes by it within a second. Repeating it changes nothing.",
        body=NoBody,
        body_optional=True,
        examples={"plain": {}},
        answer=ServiceRow,
        answer_examples={"done": {**_ROW, "status": example}},
    )


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
