"""Who does something, from where and by which request: what verbs write into the audit."""

from __future__ import annotations

from flask import Request

from blueprints.request_ids import request_id
from restante.audit.actions import ActorKind
from restante.audit.entries import Actor, Origin
from restante.identity.principal import Principal


def origin_of(request: Request, principal: Principal) -> Origin:
    """The origin of a call of an agent or service."""
    actor = Actor(ActorKind(principal.kind.value), principal.public_id)
    return Origin(actor, request.remote_addr, request_id(request))
