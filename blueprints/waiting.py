"""Held calls: they wait at the hub, with no connection and no transaction, and look again when rung."""

from __future__ import annotations

import time
from collections.abc import Callable

from blueprints.access import Access
from blueprints.calls import Call, Reply
from blueprints.principal import authenticate
from extensions import house
from restante.errors import InsufficientScope, Unauthenticated
from restante.identity.scopes import Verb


def hold(call: Call, look: Callable[[], Reply], seconds: float, *, access: Access) -> Reply:
    """The first reply that is not empty, or the last one when the time is over or the server drains.

    The credential and the grants are checked again before each look, at the latest at every
    heartbeat. Whichever is withdrawn meanwhile, the answer is Unauthenticated (contract 4): the
    token held when the call began.
    """
    here = house()
    hub, beat = here.hub, here.settings.heartbeat_seconds
    end = time.monotonic() + seconds
    # listening begins before the first look: what commits in between rings
    with hub.listen(call.principal.id, _projects(call, access)) as bell:
        reply = look()
        while True:
            left = end - time.monotonic()
            if not reply.empty or left <= 0 or hub.draining:
                return reply
            bell.wait(min(left, beat))
            if hub.draining:
                return reply
            try:
                _, call.principal = authenticate(call.request)
                access.admit(call.principal, call.path)
                bell.project_ids = frozenset(_projects(call, access))
                reply = look()
            except InsufficientScope:
                raise Unauthenticated("withdrawn", presented=True) from None


def _projects(call: Call, access: Access) -> list[bytes]:
    verbs = [scope for scope in access.scopes if isinstance(scope, Verb)]
    return [project.id for verb in verbs for project in call.principal.covered(verb)]
