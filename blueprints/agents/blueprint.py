"""What is under an agent's own address."""

from __future__ import annotations

from collections.abc import Sequence

from flask import Blueprint
from werkzeug.routing import BaseConverter

from blueprints.fields import Slug
from restante.identity.principal import Principal, Project
from restante.identity.scopes import Verb

agents = Blueprint("agents", __name__, url_prefix="/api/v1/agents/<agent_id>")


def asked_projects(
    agent: Principal, verb: Verb, slugs: Sequence[Slug] | None
) -> tuple[Project, ...]:
    """Those named, or all that are covered. InsufficientScope for one that is not."""
    if slugs is None:
        return agent.require_any(verb)
    return tuple(agent.require(verb, slug) for slug in dict.fromkeys(slugs))


class KeyConverter(BaseConverter):
    """A key of memory: whatever follows, slashes too."""

    regex = "(?s:.+)"
    part_isolating = False


class EventConverter(BaseConverter):
    """An id directly below the inbox. The words are other routes, which answer 405 where this would 404."""

    regex = "(?!(?:claim|claims|commit|release|settle|stats|turn)$)[^/]+"
