"""Whether an agent may come in, and whether it is given work."""

from __future__ import annotations

from typing import Any

from blueprints.admin.blueprint import admin, administrator
from blueprints.admin.machines import AGENT_DETAIL, AgentDetail, detailed_agent, state_endpoint
from blueprints.calls import Call, Reply
from blueprints.endpoint import Endpoint
from restante.identity.agent_settings import pause_agent
from restante.identity.machine_list import MachineStatus
from restante.identity.machine_status import set_status
from restante.identity.principal import PrincipalKind
from restante.storage.transaction import Session


def _endpoint(summary: str, description: str, **state: Any) -> Endpoint:
    example = {**AGENT_DETAIL, **state}
    return state_endpoint(summary, description, answer=AgentDetail, example=example)


@_endpoint(
    "Disable an agent",
    "Its tokens stop, it gets no new ones, and its streams end by their next heartbeat. Its mail is kept, "
    "and more can be published to it; what it holds comes back when the leases end.",
    status="disabled",
).route(admin, "/agents/<agent_id>/disable")
def disable_agent(session: Session, call: Call) -> Reply:
    """Until it is enabled."""
    return _set(session, call, MachineStatus.DISABLED)


@_endpoint(
    "Enable an agent", "It gets tokens again, with the credentials and grants it had."
).route(admin, "/agents/<agent_id>/enable")
def enable_agent(session: Session, call: Call) -> Reply:
    """Again."""
    return _set(session, call, MachineStatus.ACTIVE)


@_endpoint(
    "Remove an agent",
    "For good: its credentials and grants end, and publishing to it is `recipient-refused`. Its events "
    "remain until retention takes them, and its name stays taken, since events name it.",
    status="removed",
    grants=[],
).route(admin, "/agents/<agent_id>/remove")
def remove_agent(session: Session, call: Call) -> Reply:
    """For good."""
    return _set(session, call, MachineStatus.REMOVED)


@_endpoint(
    "Pause an agent",
    'Its claims answer no events and `"reason": "paused"`. It reads, and settles what it holds; its mail is '
    "kept, and more can be published to it.",
    paused=True,
).route(admin, "/agents/<agent_id>/pause")
def pause_one_agent(session: Session, call: Call) -> Reply:
    """Until it goes on."""
    return _pause(session, call, paused=True)


@_endpoint(
    "Have an agent go on", "It is given work again; its bell rings where something waits."
).route(admin, "/agents/<agent_id>/resume")
def resume_agent(session: Session, call: Call) -> Reply:
    """Again."""
    return _pause(session, call, paused=False)


def _set(session: Session, call: Call, status: MachineStatus) -> Reply:
    changed = set_status(
        session, administrator(call), PrincipalKind.AGENT, call.path["agent_id"], status
    )
    return Reply(detailed_agent(session, changed))


def _pause(session: Session, call: Call, *, paused: bool) -> Reply:
    changed = pause_agent(session, administrator(call), call.path["agent_id"], paused=paused)
    return Reply(detailed_agent(session, changed))
