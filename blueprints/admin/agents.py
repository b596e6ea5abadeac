"""The agents of the tenant."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from blueprints import examples
from blueprints.admin.blueprint import admin, administrator, having
from blueprints.admin.machines import (
    AGENT,
    AGENT_DETAIL,
    SECRET,
    TAG,
    Agent,
    AgentDetail,
    Grants,
    MachinesQuery,
    Name,
    detailed_agent,
    listed,
    made_of,
    shown_agent,
)
from blueprints.calls import Call, Reply
from blueprints.endpoint import Endpoint
from blueprints.fields import Answer, Body, integral
from blueprints.idempotency import refuse_key
from restante.errors import PageTokenInvalid
from restante.identity.agent_settings import MOST_IN_FLIGHT, add_agent, change_agent
from restante.identity.agents import MOST_CAPABILITIES
from restante.identity.machine_list import read_machine
from restante.identity.principal import PrincipalKind
from restante.identity.roles import Right
from restante.identity.tenant_settings import MOST_PENDING
from restante.storage.transaction import Session

Capabilities = Annotated[
    list[Annotated[str, Field(max_length=128)]], Field(max_length=MOST_CAPABILITIES)
]


class AgentBody(Body):
    """What it is called, what it can do, and what it may."""

    name: Name
    capabilities: Capabilities | None = None
    grants: Grants | None = None


class AgentChange(Body):
    """Those named are set, the others stay. A limit that is null is the server's."""

    capabilities: Capabilities | None = None
    max_in_flight: (
        Annotated[int, Field(ge=1, le=MOST_IN_FLIGHT), BeforeValidator(integral)] | None
    ) = None
    max_pending: Annotated[int, Field(ge=1, le=MOST_PENDING), BeforeValidator(integral)] | None = (
        None
    )


class NewAgent(Answer):
    """The agent, and its secret, this once."""

    agent_id: str
    client_id: str
    client_secret: str


class Agents(Answer):
    """A page of agents, by name."""

    agents: list[Agent]
    next_page_token: str | None


@Endpoint(
    method="POST",
    access=having(Right.AGENTS_WRITE),
    tag=TAG,
    summary="Create an agent",
    description="With an empty inbox. Grants (`agent:<project or *>:<verb>`) take `tenant:grants:write` "
    "besides. No Idempotency-Key: the answer is a secret that is not kept. A name that an agent of the "
    "tenant has or had is 422: read `/agents?name=` to see whether a call whose answer was lost has made it, "
    "and make it another secret.",
    body=AgentBody,
    examples={
        "plain": {"name": "builder"},
        "all": {
            "name": "builder",
            "capabilities": ["build", "test:linux"],
            "grants": ["agent:main:read", "agent:main:claim"],
        },
    },
    answer=NewAgent,
    answer_examples={
        "made": {
            "agent_id": examples.AGENT_ID,
            "client_id": examples.AGENT_ID,
            "client_secret": SECRET,
        }
    },
    status=201,
).route(admin, "/agents")
def create_one_agent(session: Session, call: Call) -> Reply:
    """A new one."""
    refuse_key(call)
    body: AgentBody = call.body
    made = add_agent(
        session,
        administrator(call),
        name=body.name,
        grants=body.grants or (),
        capabilities=body.capabilities or (),
    )
    return made_of(PrincipalKind.AGENT, made)


@Endpoint(
    method="GET",
    access=having(Right.AGENTS_READ),
    tag=TAG,
    summary="List agents",
    description="The agents of the tenant, by name.",
    query=MachinesQuery,
    answer=Agents,
    answer_examples={"one": {"agents": [AGENT], "next_page_token": None}},
    problems=(PageTokenInvalid,),
).route(admin, "/agents")
def list_agents(session: Session, call: Call) -> Reply:
    """A page of them."""
    return listed(session, call, PrincipalKind.AGENT, shown_agent)


@Endpoint(
    method="GET",
    access=having(Right.AGENTS_READ),
    tag=TAG,
    summary="Read an agent",
    description="What it is, what it may do, its limits, and when it was last seen (give or take ten "
    "seconds).",
    answer=AgentDetail,
    answer_examples={"one": AGENT_DETAIL},
).route(admin, "/agents/<agent_id>")
def read_agent(session: Session, call: Call) -> Reply:
    """One."""
    found = read_machine(session, administrator(call), PrincipalKind.AGENT, call.path["agent_id"])
    return Reply(detailed_agent(session, found))


@Endpoint(
    method="PATCH",
    access=having(Right.AGENTS_WRITE),
    tag=TAG,
    summary="Change an agent",
    description="`capabilities` are what assignments choose by. It claims no more while it holds "
    "`max_in_flight` events, and publishing to it is 429 while `max_pending` of its events are unsettled. "
    "Every server goes by it within a second.",
    body=AgentChange,
    examples={
        "capabilities": {"capabilities": ["build", "test:linux"]},
        "limits": {"max_in_flight": 5, "max_pending": 5000},
        "the server's limit": {"max_pending": None},
    },
    answer=AgentDetail,
    answer_examples={"changed": AGENT_DETAIL},
).route(admin, "/agents/<agent_id>")
def change_one_agent(session: Session, call: Call) -> Reply:
    """Set it."""
    body: AgentChange = call.body
    changes = {
        name: value
        for name in body.model_fields_set
        # only a limit can be nothing; capabilities that are null are left out
        if (value := getattr(body, name)) is not None or name != "capabilities"
    }
    changed = change_agent(session, administrator(call), call.path["agent_id"], changes)
    return Reply(detailed_agent(session, changed))
