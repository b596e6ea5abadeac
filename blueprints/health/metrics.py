"""The figures of the installation, for Prometheus."""

from __future__ import annotations

from flask import Blueprint, Response

from blueprints.access import public, states
from extensions import house

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
blueprint = Blueprint("metrics", __name__)


@blueprint.get("/metrics")
@states(public("figures of the installation; a proxy keeps them inside"))
def metrics() -> Response:
    """All of them."""
    answer = Response(house().metrics.render(), content_type=MEDIA_TYPE)
    answer.headers["Cache-Control"] = "no-store"
    return answer
