"""The web application: what it is made of, and nothing else."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter

from flask import Flask, Response, request, send_from_directory
from werkzeug.middleware.proxy_fix import ProxyFix

import extensions
from blueprints import (
    a2a,
    console,
    cors,
    docs,
    events,
    home,
    manual,
    oauth,
    openapi,
    problem_pages,
    problems,
    request_lines,
    tracing,
    unread,
)
from blueprints.access import public, states
from blueprints.admin import admin
from blueprints.agents import EventConverter, KeyConverter, agents
from blueprints.coordination import coordination
from blueprints.endpoint import BEGAN
from blueprints.health import metrics, probes
from blueprints.problem_pages import guarded
from blueprints.request_ids import HEADER, request_id
from config import Settings, load_settings
from restante import __version__

HOME = Path(__file__).resolve().parent
BLUEPRINTS = (
    agents,
    events.blueprint,
    a2a.blueprint,
    coordination,
    admin,
    probes.blueprint,
    metrics.blueprint,
    openapi.blueprint,
    home.blueprint,
    docs.blueprint,
    manual.blueprint,
    problem_pages.blueprint,
)


def create_app(settings: Settings | None = None) -> Flask:
    """The application on these settings, or on those of the environment."""
    settings = settings or load_settings()
    app = Flask("restante", root_path=str(HOME), static_folder=None)
    # whatever FLASK_DEBUG says: this is the production server, and it shows nobody its insides
    app.debug = False
    app.config["MAX_CONTENT_LENGTH"] = settings.body_limit_bytes
    app.config["PROVIDE_AUTOMATIC_OPTIONS"] = False
    # an address has one spelling: nothing redirects to another
    app.url_map.merge_slashes = False
    app.url_map.converters["event"] = EventConverter
    app.url_map.converters["key"] = KeyConverter
    # examples are shown in the order in which they are answered
    app.jinja_env.policies["json.dumps_kwargs"] = {"sort_keys": False, "ensure_ascii": False}
    house = extensions.install(app, settings)
    problems.install(app)
    unread.install(app)
    for blueprint in BLUEPRINTS:
        app.register_blueprint(blueprint)
    oauth.install(app)
    console.install(app)
    cors.install(app)
    app.after_request(_sign)
    tracing.install(app, house.spans)
    if settings.log_requests == "on":
        request_lines.install(app)
    app.add_url_rule("/static/<path:filename>", "static", _static)
    if hops := settings.trusted_proxies:
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=hops, x_proto=hops, x_host=hops)  # type: ignore[method-assign]  # WSGI's own way
    return app


@states(public("style sheets of public pages"))
def _static(filename: str) -> Response:
    return guarded(send_from_directory(HOME / "static", filename, max_age=300))


def _sign(answer: Response) -> Response:
    asked = request._get_current_object()  # type: ignore[attr-defined] # noqa: SLF001 - Flask's own way
    # added, not set: nobody else gives these, and setting looks through all that are there
    add = answer.headers.add
    add(HEADER, request_id(asked))
    add("Restante-Version", __version__)
    add("X-Content-Type-Options", "nosniff")
    began = asked.environ.get(BEGAN)
    if began is not None:
        rule = asked.url_rule
        route = "" if rule is None else rule.rule
        seconds = perf_counter() - began
        extensions.house().metrics.request(asked.method, route, answer.status_code, seconds)
    return answer
