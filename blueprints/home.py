"""/: what is served here, and where to go on; whoever has a session of the console goes to its overview."""

from __future__ import annotations

from flask import Blueprint, Response, render_template, request

from blueprints.access import public, states
from blueprints.console import cookies
from blueprints.console.pages import see
from blueprints.problem_pages import page
from extensions import house

blueprint = Blueprint("home", __name__)


@blueprint.get("/")
@states(public("says what this is"))
def home() -> Response:
    """The front page. It names nobody and nothing that is kept here."""
    if cookies.read(request, cookies.SESSION) is not None:
        return see("/overview")
    return page(render_template("home.html", url=house().settings.public_url))
