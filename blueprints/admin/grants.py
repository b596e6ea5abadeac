"""What an agent may do."""

from __future__ import annotations

from typing import Any

from blueprints import examples
from blueprints.admin.blueprint import admin, administrator, having
from blueprints.admin.machines import TAG, Grants
from blueprints.calls import Call, Reply
from blueprints.endpoint import Endpoint
from blueprints.fields import Answer, Body
from restante.identity.grant_replacement import read_grants, replace_grants
from restante.identity.roles import Right
from restante.storage.transaction import Session

_HELD: dict[str, Any] = {
    "agent_id": examples.AGENT_ID,
    "grants": ["agent:*:publish", "agent:main:claim", "agent:main:read"],
}


class GrantsBody(Body):
    """All that it may do from now on."""

    grants: Grants


class HeldGrants(Answer):
    """All that it may do, sorted, each once."""

    agent_id: str
    grants: list[str]


@Endpoint(
    method="GET",
    access=having(Right.GRANTS_READ, Right.AGENTS_READ),
    tag=TAG,
    summary="Read an agent's grants",
    description="What it may do now.",
    answer=HeldGrants,
    answer_examples={"some": _HELD},
).route(admin, "/agents/<agent_id>/grants")
def read_agent_grants(session: Session, call: Call) -> Reply:
    """What it may do."""
    agent_id = call.path["agent_id"]
    held = read_grants(session, administrator(call), agent_id)
    return Reply({"agent_id": agent_id, "grants": held})


@Endpoint(
    method="PUT",
    access=having(Right.GRANTS_WRITE),
    tag=TAG,
    summary="Replace an agent's grants",
    description="`agent:<project or *>:<verb>`, verbs `read`, `claim`, `publish`, `memory`, `callback`. What "
    "is not named is taken away, within a second on every server and from tokens that are out too; what is "
    "new is in tokens got from now on. `tenant:` scopes are for services, and are what these were made with.",
    body=GrantsBody,
    examples={
        "one project": {"grants": ["agent:main:read", "agent:main:claim", "agent:*:publish"]},
        "none": {"grants": []},
    },
    answer=HeldGrants,
    answer_examples={"now": _HELD},
).route(admin, "/agents/<agent_id>/grants")
def replace_agent_grants(session: Session, call: Call) -> Reply:
    """Say them anew."""
    agent_id = call.path["agent_id"]
    held = replace_grants(session, administrator(call), agent_id, call.body.grants)
    return Reply({"agent_id": agent_id, "grants": held})
