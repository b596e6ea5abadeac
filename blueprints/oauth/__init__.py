"""Where clients get their tokens: OAuth 2.0 by authlib, which lives here (and, later, in login) only."""

from __future__ import annotations

import logging

from flask import Flask

from blueprints.oauth.discovery import blueprint as discovery
from blueprints.oauth.server import server
from blueprints.oauth.token import blueprint as token


def install(app: Flask) -> None:
    """Give the application its OAuth endpoints."""
    # at DEBUG authlib writes whole tokens into the log
    logging.getLogger("authlib").setLevel(logging.INFO)
    server.init_app(app)
    app.register_blueprint(token)
    app.register_blueprint(discovery)
