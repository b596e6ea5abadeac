"""Who administers in tests: services with the scopes for it, and what the audit has of what they did."""

from __future__ import annotations

from typing import Any

from restante.audit.listing import list_entries
from restante.audit.verification import verify
from restante.identity.recent import STATE_SECONDS
from tests.http.world import Caller, World

ALL = (
    "tenant:agents:read",
    "tenant:agents:write",
    "tenant:grants:read",
    "tenant:grants:write",
    "tenant:audit:read",
)


def administrator(world: World, tenant: str = "acme", name: str = "admin", *scopes: str) -> Caller:
    """A service of the tenant with these scopes; with all for administration where none is named."""
    return world.service(tenant, name, list(scopes or ALL))


def faults(answer: Any) -> list[str]:
    """The pointers of a 422."""
    assert (answer.status_code, answer.json["type"]) == (422, "/problems/validation-error")
    assert all(fault["detail"] for fault in answer.json["errors"])
    return [fault["pointer"] for fault in answer.json["errors"]]


def audited(world: World, tenant: str = "acme", *, by: Caller) -> list[tuple[str, str, str]]:
    """(action, target, reason) of what the caller did, oldest first; the chain is whole."""
    house = world.house
    assert house.database.run(verify) is None
    page = house.database.run(lambda s: list_entries(s, world.tenants[tenant], limit=1000))
    return [
        (entry.action, entry.target or "", entry.reason or "")
        for entry in reversed(page.entries)
        if entry.actor_id == by.id
    ]


def change(admin: Caller, agent: Caller, **members: Any) -> Any:
    """The answer to a PATCH."""
    return admin.call("PATCH", f"admin/agents/{agent.id}", json=members)


def step(admin: Caller, agent: Caller, what: str) -> Any:
    """The agent, disabled, paused and so on."""
    answer = admin.post(f"admin/agents/{agent.id}/{what}")
    assert answer.status_code == 200, answer.text
    return answer.json


def let_states_age(world: World) -> None:
    """As if half a second had passed for what this process knows of callers and recipients."""
    house, seconds = world.house, [STATE_SECONDS]
    real = house.authority._monotonic
    house.authority._monotonic = lambda: real() + seconds[0]
    for known in house.database.info.values():
        if hasattr(known, "clock"):
            ago = known.clock
            known.clock = lambda ago=ago: ago() + seconds[0]
