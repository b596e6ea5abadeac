"""Publish to the agent of the address (contract 6.1): what anybody of the tenant may call."""

from __future__ import annotations

from blueprints import publishing
from blueprints.access import any_of
from blueprints.agents.blueprint import agents
from blueprints.calls import Call, Reply
from blueprints.cloud_events import PublishedCloudEvent, taking
from blueprints.endpoint import Endpoint
from blueprints.publications import Message, PublishHereBody
from restante.identity.scopes import TenantScope, Verb
from restante.storage.transaction import Session


@Endpoint(
    method="POST",
    access=any_of(Verb.PUBLISH, TenantScope.EVENTS_PUBLISH),
    tag="Publishing",
    summary="Publish to this agent",
    description=publishing.DESCRIPTION,
    body=PublishHereBody,
    examples={"one": publishing.MESSAGE, "many": {"events": [publishing.MESSAGE]}},
    also=taking(Message, PublishedCloudEvent),
    answer=publishing.PublishAnswer,
    answer_examples={"one": {"events": [publishing.MADE]}},
    status=201,
    problems=publishing.PROBLEMS,
    creates=True,
    traced=True,
    shares=publishing.shares,
).route(agents, "/events")
def publish_here(session: Session, call: Call) -> Reply:
    """Publish."""
    return publishing.publish_call(session, call, here=call.path["agent_id"])
