"""What agents and services have in common here, and agents as administrators are shown them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import Field

from blueprints import examples
from blueprints.admin.blueprint import administrator, having
from blueprints.calls import Call, Reply
from blueprints.endpoint import Endpoint
from blueprints.fields import Answer, ListQuery, NoBody
from blueprints.shapes import WireInstant
from restante.identity.grants import MOST_GRANTS, grants_of
from restante.identity.machine_list import Machine, MachineStatus, list_machines
from restante.identity.machines import Enrolled
from restante.identity.names import NAME_LENGTH
from restante.identity.principal import PrincipalKind
from restante.identity.roles import Right
from restante.inbox.envelope import instant
from restante.storage.transaction import Session

TAG = "Administration"
SECRET = "rst_h3Zk8Wm1Qx5vT9bN2cR7yLp4Ds6Ff0Gj-aEiOuKqVMs"

Status = Literal["active", "disabled", "removed"]
Name = Annotated[str, Field(min_length=1, max_length=NAME_LENGTH)]
Grants = Annotated[list[Annotated[str, Field(max_length=96)]], Field(max_length=MOST_GRANTS)]


class MachinesQuery(ListQuery):
    """Which of them."""

    status: Status | None = Field(default=None, description="Left out: all that are not removed.")
    name: Annotated[str, Field(max_length=NAME_LENGTH)] | None = Field(
        default=None, description="The one of exactly this name."
    )


class Agent(Answer):
    """An agent of the tenant."""

    agent_id: str
    name: str
    status: Status
    paused: bool = Field(description="Its claims answer nothing; its mail is kept.")
    capabilities: list[str]
    max_in_flight: int | None = Field(description="null: the server's.")
    max_pending: int | None = Field(description="null: the server's.")
    created_at: WireInstant
    last_seen_at: WireInstant | None


class AgentDetail(Agent):
    """An agent of the tenant, with what it may do."""

    grants: list[str] = Field(description="`agent:<project or *>:<verb>`, sorted.")


AGENT: dict[str, Any] = {
    "agent_id": examples.AGENT_ID,
    "name": "builder",
    "status": "active",
    "paused": False,
    "capabilities": ["build", "test:linux"],
    "max_in_flight": None,
    "max_pending": 5000,
    "created_at": examples.CREATED_AT,
    "last_seen_at": examples.LATER,
}


AGENT_DETAIL: dict[str, Any] = {**AGENT, "grants": ["agent:main:claim", "agent:main:read"]}


def shown_agent(agent: Machine) -> dict[str, Any]:
    """As it is answered."""
    return {
        "agent_id": agent.public_id,
        "name": agent.name,
        "status": agent.status,
        "paused": agent.paused,
        "capabilities": agent.capabilities,
        "max_in_flight": agent.max_in_flight,
        "max_pending": agent.max_pending,
        "created_at": instant(agent.created_at),
        "last_seen_at": instant(agent.last_seen_at),
    }


def made_of(kind: PrincipalKind, made: Enrolled) -> Reply:
    """A new one with its secret, this once."""
    told = {f"{kind}_id": made.public_id, "client_id": made.public_id}
    return Reply({**told, "client_secret": made.client_secret}, 201)


def listed(
    session: Session, call: Call, kind: PrincipalKind, shown: Callable[[Machine], dict[str, Any]]
) -> Reply:
    """The page that a MachinesQuery asks for."""
    asked: MachinesQuery = call.query
    page = list_machines(
        session,
        administrator(call),
        kind,
        limit=asked.limit,
        token=asked.page_token,
        status=None if asked.status is None else MachineStatus(asked.status),
        name=asked.name,
    )
    rows = list(map(shown, page.machines))
    return Reply({f"{kind}s": rows, "next_page_token": page.next_page_token})


def state_endpoint(
    summary: str, description: str, *, answer: type[Answer], example: dict[str, Any]
) -> Endpoint:
    """One that puts an agent or a service into a state."""
    return Endpoint(
        method="POST",
        access=having(Right.AGENTS_WRITE),
        tag=TAG,
        summary=summary,
        description=f"{description} Every server goes by it within a second. Repeating it changes nothing.",
        body=NoBody,
        body_optional=True,
        examples={"plain": {}},
        answer=answer,
        answer_examples={"done": example},
    )


def detailed_agent(session: Session, agent: Machine) -> dict[str, Any]:
    """With its grants."""
    return {**shown_agent(agent), "grants": sorted(map(str, grants_of(session, agent.id)))}
