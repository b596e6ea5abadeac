"""Is it alive, and may traffic come: what load balancers ask."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response
from orjson import dumps

from blueprints.access import public, states
from extensions import house
from restante.errors import RestanteError
from restante.inbox.timers import oldest_due
from restante.storage.clock import database_now
from restante.storage.transaction import Session

blueprint = Blueprint("health", __name__)


@blueprint.get("/health/live")
@states(public("says only that the process answers"))
def live() -> Response:
    """It answers, so it lives."""
    return _told({"status": "live"})


@blueprint.get("/health/ready")
@states(public("says only whether traffic may come"))
def ready() -> Response:
    """503 while it drains or its database does not answer.

    `maintenance_lag_seconds`: for how long the oldest timer has been due, whoever should have run it.
    """
    here = house()
    if here.hub.draining:
        return _told({"status": "draining"}, 503)
    try:
        lag = here.database.run(_lag_seconds)
    except (RestanteError, OSError):
        return _told({"status": "no_database"}, 503)
    return _told({"status": "ready", "maintenance_lag_seconds": lag})


def _lag_seconds(session: Session) -> float:
    due = oldest_due(session)
    return 0.0 if due is None else max(0.0, (database_now(session) - due).total_seconds())


def _told(content: dict[str, Any], status: int = 200) -> Response:
    answer = Response(dumps(content), status, mimetype="application/json")
    answer.headers["Cache-Control"] = "no-store"
    return answer
