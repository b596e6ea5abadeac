"""The agents of the tenant."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from blueprints.admin.blueprint import ListQuery, admin, administrator, having
from blueprints.admin.machines import AGENT, Agent, Status, shown_agent
from blueprints.calls import Call, Reply
from blueprints.endpoint import Endpoint
from blueprints.fields import Answer
from restante.errors import PageTokenInvalid
from restante.identity.machine_list import MachineStatus, list_machines
from restante.identity.principal import PrincipalKind
from restante.identity.roles import Right
from restante.storage.transaction import Session

TAG = "Administration"


class AgentsQuery(ListQuery):
    """Which agents."""

    status: Status | None = Field(default=None, description="Left out: all that are not removed.")
    name: Annotated[str, Field(max_length=190)] | None = Field(
        default=None, description="The one of exactly this name."
    )


class Agents(Answer):
    """A page of agents, by name."""

    agents: list[Agent]
    next_page_token: str | None


@Endpoint(
    method="GET",
    access=having(Right.AGENTS_READ),
    tag=TAG,
    summary="List agents",
    description="The agents of the tenant, by name.",
    query=AgentsQuery,
    answer=Agents,
    answer_examples={"one": {"agents": [AGENT], "next_page_token": None}},
    problems=(PageTokenInvalid,),
).route(admin, "/agents")
def list_agents(session: Session, call: Call) -> Reply:
    """A page of them."""
    asked: AgentsQuery = call.query
    page = list_machines(
        session,
        administrator(call),
        PrincipalKind.AGENT,
        limit=asked.limit,
        token=asked.page_token,
        status=None if asked.status is None else MachineStatus(asked.status),
        name=asked.name,
    )
    return Reply(
        {"agents": list(map(shown_agent, page.machines)), "next_page_token": page.next_page_token}
    )
