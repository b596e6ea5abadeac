"""/problems/<slug>: the page that the type of a problem leads to."""

from __future__ import annotations

import re

from flask import Blueprint, Response, make_response, render_template
from markupsafe import Markup, escape

from blueprints.access import public, states
from blueprints.console.pages import protect
from blueprints.problem_texts import TEXTS, Text
from blueprints.problems import KINDS, Kind, problem_example
from restante.errors import NotFound

blueprint = Blueprint("problems", __name__)

_GUARDS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}
_QUOTED = re.compile(r"`([^`]+)`")
_PAGES: dict[str, tuple[Kind, Text]] = {
    kind.slug: (kind, TEXTS[kind.slug]) for kind in KINDS.values()
}


@blueprint.get("/problems")
@states(public("documentation"))
def index() -> Response:
    """Every problem there is."""
    kinds = sorted((kind for kind, _ in _PAGES.values()), key=lambda kind: (kind.status, kind.slug))
    first = {
        slug: text.happened.partition(". ")[0].removesuffix(".")
        for slug, (_, text) in _PAGES.items()
    }
    return page(render_template("problems/index.html", kinds=kinds, first=first))


@blueprint.get("/problems/<slug>")
@states(public("documentation"))
def one(slug: str) -> Response:
    """What happened, and what to do."""
    if slug not in _PAGES:
        raise NotFound
    kind, text = _PAGES[slug]
    example = problem_example(kind)
    return page(render_template("problems/problem.html", kind=kind, text=text, example=example))


@blueprint.app_template_filter("prose")
def prose(text: str) -> Markup:
    """A text whose `quoted` words are code."""
    return Markup(_QUOTED.sub(r"<code>\1</code>", str(escape(text))))  # noqa: S704 - escaped here


def page(text: str) -> Response:
    """An answer with a page, which loads nothing from elsewhere."""
    answer = make_response(text)
    answer.headers["Cache-Control"] = "public, max-age=300"
    return guarded(answer)


def guarded(answer: Response) -> Response:
    """An answer of which nothing is run, framed, or fetched from elsewhere."""
    answer.headers.extend(_GUARDS)
    return protect(answer)
