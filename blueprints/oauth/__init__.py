"""Where clients get their tokens: OAuth 2.0 by authlib, which lives here (and, later, in login) only."""

from __future__ import annotations

import logging

from flask import Flask

from blueprints.oauth import device, discovery, introspection, revocation, token
from blueprints.oauth.server import server

BLUEPRINTS = tuple(room.blueprint for room in (token, device, revocation, introspection, discovery))


def install(app: Flask) -> None:
    """Give the application its OAuth endpoints."""
    # at DEBUG authlib writes whole tokens into the log
    logging.getLogger("authlib").setLevel(logging.INFO)
    server.init_app(app)
    for blueprint in BLUEPRINTS:
        app.register_blueprint(blueprint)
