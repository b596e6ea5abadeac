"""The index, one page, and the search."""

from __future__ import annotations

from flask import Blueprint, Response, render_template, request

from blueprints import problem_pages
from blueprints.access import public, states
from blueprints.manual.answers import ANSWERS
from blueprints.manual.markdown import page
from blueprints.manual.search import MOST_LETTERS, search
from blueprints.manual.shelf import READERS, names
from restante.errors import NotFound

blueprint = Blueprint("manual", __name__)


@blueprint.get("/docs")
@states(public("documentation"))
def index() -> Response:
    """Who reads what."""
    there = set(names())
    readers = {
        reader: [page(name) for name in pages if name in there] for reader, pages in READERS.items()
    }
    return _page("index.html", readers=readers, answers=ANSWERS)


@blueprint.get("/docs/search")
@states(public("documentation"))
def find() -> Response:
    """The sections with the words of `q`."""
    asked = request.args.get("q", "")[:MOST_LETTERS].strip()
    return _page("search.html", asked=asked, found=search(asked))


@blueprint.get("/docs/<path:name>")
@states(public("documentation"))
def read(name: str) -> Response:
    """One page."""
    if name not in names():
        raise NotFound
    return _page("page.html", shown=page(name))


def _page(template: str, **shown: object) -> Response:
    return problem_pages.page(render_template(f"manual/{template}", **shown))
