"""Agents as administrators are shown them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from blueprints import examples
from blueprints.fields import Answer
from blueprints.shapes import WireInstant
from restante.identity.grants import grants_of
from restante.identity.machine_list import Machine
from restante.inbox.envelope import instant
from restante.storage.transaction import Session

Status = Literal["active", "disabled", "removed"]


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


def detailed_agent(session: Session, agent: Machine) -> dict[str, Any]:
    """With its grants."""
    return {**shown_agent(agent), "grants": sorted(map(str, grants_of(session, agent.id)))}
