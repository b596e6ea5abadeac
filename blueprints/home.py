"""/: what is served here, and where to go on. Until there is a console it is the front page."""

from __future__ import annotations

from flask import Blueprint, Response, render_template

from blueprints.access import public, states
from blueprints.problem_pages import page
from extensions import house

blueprint = Blueprint("home", __name__)


@blueprint.get("/")
@states(public("says what this is"))
def home() -> Response:
    """The front page. It names nobody and nothing that is kept here."""
    return page(render_template("home.html", url=house().settings.public_url))
